/** The messages between the truncation lab's panel and its page. */

import type { LabOptions, LabResult } from "../wire/preview";

export type ToPage =
  | { type: "show"; result: LabResult }
  | { type: "busy" }
  | { type: "progress"; message: string }
  /** The prompt has changed since it was explored. */
  | { type: "stale" }
  /** The limit and step were written into the header. */
  | { type: "applied" }
  | { type: "fail"; message: string };

export type FromPage =
  | { type: "ready" }
  | { type: "explore"; options: LabOptions }
  | { type: "apply"; limit: number; step: number };
