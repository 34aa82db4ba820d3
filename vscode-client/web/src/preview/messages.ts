/** The messages between the preview page and its host. */

import type { PreviewChoice, PreviewResult } from "../wire/preview";

export type ToPage =
  | { type: "show"; result: PreviewResult }
  /** The server did not answer. */
  | { type: "fail"; uri: string; message: string }
  /** The editor's cursor, in the prompt or a file that it includes; line and column count from 0. */
  | { type: "cursor"; uri: string; line: number; character: number }
  /** More text of a model's answer. */
  | { type: "answerText"; text: string }
  /** A question to the user before a model is asked, with the label of the confirming button. */
  | { type: "confirm"; question: string; action: string }
  /** The model can be asked now: a missing key, package or permission was added. */
  | { type: "askAgain" };

/** Requests that the page may send; the server answers them. */
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
  /** A place in the prompt, or in the file that `uri` or `path` specifies. */
  | { type: "reveal"; line: number; character?: number; uri?: string; path?: string }
  /** Opens the truncation lab. */
  | { type: "lab" }
  /** Opens VS Code's page about workspace trust. */
  | { type: "trust" }
  /** Cancels the request to the model. */
  | { type: "stop" }
  | { type: "confirmed"; yes: boolean };
