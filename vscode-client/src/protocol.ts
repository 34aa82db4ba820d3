/** What the server's commands take and answer, and the messages of its own: plain JSON both ways. */

import type { RowVerdict } from "./tests/items";

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
  /** Text; or the list or mapping that the template gave instead. */
  content: unknown;
  tokens: number;
  truncation_priority: number;
  /** False when the limit cuts the part. */
  kept: boolean;
  sections: string[] | null;
  /** The template line that begins the part, from 0, or null when it has none. */
  line: number | null;
  /** What made the content, where that is known and the content is a text. */
  sourceMap?: PackedSegments | null;
}

/** Segments on their way from the server: a row of ten numbers for each, one row behind the other. */
export interface PackedSegments {
  /** Start, end, file, line and character of the range's ends, verbatim, turns, data path; -1 for none. */
  segments: number[];
  turns: string[][];
  dataPaths: string[];
}

export interface Position {
  /** From 0. */
  line: number;
  /** In UTF-16 code units, from 0. */
  character: number;
}

/** A piece of a part's content, in UTF-16 code units, and what made it. */
export interface Segment {
  start: number;
  end: number;
  /** The file, by its place in the result's `files`. */
  file: number;
  range: { start: Position; end: Position };
  /** True when the text stands in the template as it was rendered. */
  verbatim: boolean;
  /** The turns of the loops around it, in words, the outermost first. */
  turns: string[];
  dataPath: string | null;
}

export interface Rendering {
  parts: Part[];
  /** Null where a content is no text. */
  string: string | null;
  messages: unknown;
  tokens: number;
  tokens_kept: number;
  text: string;
  seconds: number;
  /** What the real library would fail at later: counting, joining, truncating. */
  problems?: RenderingFailure[];
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
  /** The data set's name, where its rows can be chosen. */
  dataset?: string | null;
  data: unknown;
  /** Functions that nobody provides, for which stand-ins were called. */
  standIns?: string[];
  tokenLimit: number | null;
  truncationStep: number | null;
  /** What the first experiment asks of its models. */
  request?: { models: string[]; temperature: number | null; maxTokens: number | null; seed: number | null };
  /** URIs of the template files, for the segments of the source maps. */
  files?: string[];
  /** Present for evaluation prompts. */
  viewer?: Viewer | null;
  rendering: Rendering | null;
  failure: RenderingFailure | null;
}

/** A training row that the retriever chose, from 0. */
export interface InContextExample {
  row: number;
  text: string;
  tokens: number;
}

/** How an evaluation prompt was laid out for one row. */
export interface Viewer {
  rows: number;
  /** From 0; null where the data is no row of the data set. */
  row: number | null;
  prompts: { label: string | null; tokens: number }[];
  /** The in-context examples, with their places among the training rows, from 0. */
  examples: InContextExample[];
  /** Those that were chosen too and do not fit, each with the first label without it, if others have it. */
  dropped: (InContextExample & { label: string | null })[];
  inferencer: string;
  retriever: string;
  /** Why the examples may be others than those of OpenCompass; null where they are not. */
  approximation: string | null;
  metaTemplate: string;
  metaTemplates: string[];
}

/** Tokens one by one: ids, and where each begins in UTF-16 code units. */
export interface TokensAnswer {
  encoding: string;
  texts: { ids: number[]; starts: number[] }[];
}

export interface RowsAnswer {
  dataset: string;
  rows: { row: number; text: string }[];
  start: number;
  matching: number;
  total: number;
}

export interface CommittedAnswer {
  commit: { name: string; subject: string; date: string };
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

/** Sent while a run that was begun with `follow` goes on: rows that are finished since the last time. */
export const ROW_VERDICTS = "promptls/rowVerdicts";

export interface RowVerdictsParams {
  follow: string;
  verdicts: RowVerdict[];
}

/** What the reader of the truncation lab may choose; what is left out is found. */
export interface LabOptions {
  input?: string | undefined;
  cache?: string | undefined;
  /** What counts as the present limit and step, instead of the file's. */
  limit?: number | undefined;
  step?: number | undefined;
  limits?: number[] | undefined;
  turns?: number | undefined;
}

export interface LabArguments extends LabOptions {
  uri: string;
}

export interface LabResult {
  uri: string;
  found: Lab | null;
  failure: RenderingFailure | null;
  cancelled: boolean;
}

/** What limits and steps do to a chat that grows. Counts are tokens, shares are between 0 and 1. */
export interface Lab {
  path: string;
  encoding: string;
  approximate: boolean;
  /** The input that grows, and those that could grow instead. */
  input: string;
  inputs: string[];
  limit: number | null;
  step: number | null;
  cache: { name: string; words: string };
  chats: { name: string; source: string; generated: number; tokens: number[] }[];
  limits: number[];
  steps: number[];
  cells: LabCell[];
  best: { limit: number; step: number | null; reason: string }[];
  advice: string;
  unstable: { part: string; tokens: number } | null;
}

/** One limit with one step. */
export interface LabCell {
  limit: number;
  step: number;
  cacheRate: number;
  keptRate: number;
  lost: number;
  needless: number;
  breaks: number;
  score: number;
  failures: string[];
  turns: { tokens: number[]; cached: number[]; lost: number[]; failed: number[] };
}
