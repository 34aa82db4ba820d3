/** What the truncation lab's page and its panel say to each other. */

import type { LabOptions, LabResult } from "../wire/preview";

export type ToPage =
  | { type: "show"; result: LabResult }
  | { type: "busy" }
  | { type: "progress"; message: string }
  /** The prompt is not the one that was explored. */
  | { type: "stale" }
  /** The limit and step that were to be applied are in the header. */
  | { type: "applied" }
  | { type: "fail"; message: string };

export type FromPage =
  | { type: "ready" }
  | { type: "explore"; options: LabOptions }
  | { type: "apply"; limit: number; step: number }
  | { type: "copy"; text: string; what: string };
