/** The messages between the page of the preview and its host. */

import type { PreviewChoice, PreviewResult } from "../wire/preview";

export type ToPage =
  | { type: "show"; result: PreviewResult }
  /** The server could not answer at all. */
  | { type: "fail"; uri: string; message: string }
  /** The editor's cursor, in the prompt or a file that it includes; both count from 0. */
  | { type: "cursor"; uri: string; line: number; character: number }
  /** More text of the answer of a model. */
  | { type: "answerText"; text: string }
  /** A question to the user before a model is asked, with the label of the button that agrees. */
  | { type: "confirm"; question: string; action: string }
  /** The model can be asked now: a missing key, package or permission has been added. */
  | { type: "askAgain" }
  | { type: "answer"; id: number; result?: unknown; error?: string };

/** What the page may ask; each is answered by the server. */
export const QUESTIONS = {
  tokens: "promptls.previewTokens",
  rows: "promptls.previewRows",
  committed: "promptls.previewCommitted",
  answers: "promptls.previewAnswers",
  model: "promptls.ask",
  save: "promptls.saveData",
} as const;

export type FromPage =
  | { type: "ready" }
  | { type: "choose"; choice: PreviewChoice }
  /** A place of the prompt, or of the file that `uri` or `path` names. */
  | { type: "reveal"; line: number; character?: number; uri?: string; path?: string }
  /** Opens the truncation lab. */
  | { type: "lab" }
  /** Opens VS Code's page about the trust in the folder. */
  | { type: "trust" }
  /** Stops the model that is being asked. */
  | { type: "stop" }
  | { type: "confirmed"; yes: boolean }
  | { type: "copy"; text: string; what: string }
  | { type: "ask"; id: number; question: string; argument: object };
