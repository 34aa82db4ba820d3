/** The messages between the results panel and its page. */

import type { ExportForm, ResultsView, RowFilter, RunningRun } from "../wire/results";
import type { RunAgain } from "./source";

export type Page = "Overview" | "Rows" | "Compare" | "Classes";

export type ToPage =
  | { type: "show"; view: ResultsView; page?: Page | undefined }
  | { type: "fail"; message: string }
  /** The prompt has not been run yet. */
  | { type: "nothing"; prompt: string; name: string }
  /** All runs in progress, each time. */
  | { type: "running"; runs: RunningRun[] }
  /** The rows of a requested run are being rendered to estimate the run. */
  | { type: "planning" }
  /** The estimate of a run, which starts when the user confirms. */
  | { type: "question"; id: number; title: string; message: string };

/** Requests that the page may send; the server answers them. */
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
  /** Runs the experiment again, over these rows of its dataset or over all. */
  | ({ type: "runAgain"; prompt: string } & RunAgain)
  | { type: "confirm"; id: number; yes: boolean }
  | { type: "cancelRun"; id: string }
  | { type: "export"; run: string; name: string; filter: RowFilter; form: ExportForm };
