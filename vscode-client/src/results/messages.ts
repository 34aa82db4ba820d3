/** What the results panel and its page say to each other. */

import type { ResultsResult } from "../protocol";

export type ToPage = { type: "show"; result: ResultsResult } | { type: "fail"; message: string };

export type FromPage =
  | { type: "ready" }
  | { type: "openRun" }
  | { type: "runAgain" }
  | { type: "copy"; text: string; what: string };
