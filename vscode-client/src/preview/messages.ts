/** What the preview panel and its page say to each other. */

import type { PreviewResult } from "../protocol";

export type ToPage =
  | { type: "show"; result: PreviewResult }
  /** The server could not answer at all. */
  | { type: "fail"; uri: string; message: string }
  /** The template line of the cursor, from 0. */
  | { type: "cursor"; line: number };

/** What the reader chose in the page; the panel keeps it for the next request. */
export interface Choice {
  /** The name of a sample, or undefined for the server's own choice. */
  sample?: string | undefined;
  row?: number | undefined;
  limit?: number | undefined;
  step?: number | undefined;
}

export type FromPage =
  | { type: "ready" }
  | { type: "choose"; choice: Choice }
  /** `path` names another file than the prompt: an included one. */
  | { type: "reveal"; line: number; path?: string }
  | { type: "copy"; text: string; what: string };
