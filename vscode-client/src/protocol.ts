/** What the server's commands take and answer, and the messages of its own: plain JSON both ways. */

export interface PreviewArguments {
  uri: string;
  sample?: string;
  /** A row of the dataset, from 0. */
  row?: number;
  /** A token limit in place of the header's. */
  limit?: number;
  /** A truncation step in place of the header's, in tokens. */
  step?: number;
}

export interface SampleName {
  name: string;
  /** Where it comes from, in words: "samples/triage.yml", "example 1". */
  source: string;
  /** Present when the sample is a row of the dataset. */
  row?: number;
}

export interface Part {
  index: number;
  name: string;
  role: string;
  content: string;
  tokens: number;
  truncation_priority: number;
  /** False when the limit cuts the part. */
  kept: boolean;
  sections: string[] | null;
  /** The template line that begins the part, from 0, or null when it has none. */
  line: number | null;
}

export interface Rendering {
  parts: Part[];
  string: string;
  messages: unknown;
  tokens: number;
  tokens_kept: number;
  text: string;
  seconds: number;
}

export interface RenderingFailure {
  kind: string;
  message: string;
  path: string | null;
  /** From 0. */
  line: number | null;
  rendered_line: number | null;
  excerpt: string | null;
}

export interface PreviewResult {
  uri: string;
  path: string;
  version: number | null;
  kind: string;
  encoding: string;
  sample: SampleName | null;
  samples: SampleName[];
  data: unknown;
  tokenLimit: number | null;
  truncationStep: number | null;
  rendering: Rendering | null;
  failure: RenderingFailure | null;
}

export interface RunArguments {
  uri: string;
  experiment?: string;
  models?: string[];
}

export interface RunResult {
  /** The absolute path of the result CSV. */
  run: string;
  name: string;
  rows: number;
  failed: number;
  scores: Record<string, number>;
  cancelled: boolean;
  message: string;
}

export interface ResultsArguments {
  uri?: string;
  experiment?: string;
  run?: string;
}

export interface Metric {
  name: string;
  kind: string;
  value: number | null;
  text: string;
}

export interface RunSummary {
  run: string;
  name: string;
  metrics: Metric[];
}

export interface ResultsResult extends RunSummary {
  columns: string[];
  rows: Record<string, unknown>[];
  previous: RunSummary | null;
  comparison: { sentences: string[] } | null;
  /** True when the prompt changed after the run. */
  stale: boolean;
}

export interface TokensResult {
  total: number;
  limit: number | null;
  encoding: string;
  /** True when the model's own tokenizer is not public and its nearest encoding was used. */
  approximate: boolean;
  parts: { name: string; tokens: number }[];
}

/** Sent by the server when renderings of a file may differ: itself, an include, a sample or a setting changed. */
export const CHANGED = "promptls/changed";

export interface ChangedParams {
  uri: string;
}
