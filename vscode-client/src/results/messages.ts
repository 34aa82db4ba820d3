/** What the results panel and its page say to each other. */

import type { ExportForm, ResultsView, Wanted } from "./view";

export type Page = "Overview" | "Rows" | "Compare" | "Classes";

export type ToPage =
  | { type: "show"; view: ResultsView; page?: Page | undefined }
  | { type: "fail"; message: string }
  | { type: "answer"; id: number; result?: unknown; error?: string };

/** What the page may ask; each is answered by the server. */
export const QUESTIONS = {
  rows: "promptls.resultsRows",
  pairs: "promptls.resultsPairs",
  messages: "promptls.resultsMessages",
  note: "promptls.resultsNote",
  numbers: "promptls.resultsNumbers",
} as const;

export type FromPage =
  | { type: "ready" }
  /** Shows other runs. */
  | { type: "choose"; run: string; against: string[] }
  | { type: "open"; path: string }
  /** Runs the experiment again, over these rows of its data set or over all. */
  | { type: "runAgain"; prompt: string; experiment: string; rows?: string }
  | { type: "export"; run: string; name: string; wanted: Wanted; form: ExportForm }
  | { type: "copy"; text: string; what: string }
  | { type: "ask"; id: number; question: string; argument: object };
