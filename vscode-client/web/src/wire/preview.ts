/** The types of promptls.preview.preview_wire; `python -m promptls.docgen` writes this. */

import type { Lab } from "./lab";

/** The choices of the reader of a preview; missing ones are those of the file and its settings. */
export interface PreviewChoice {
  /** The name of a sample. */
  sample?: string | undefined;
  /** A row of the dataset, from 0. */
  row?: number | undefined;
  /** A token limit in place of the header's. */
  limit?: number | undefined;
  /** A truncation step in place of the header's, in tokens. */
  step?: number | undefined;
  /** The meta template for an evaluation prompt. */
  metaTemplate?: string | undefined;
  /** Whether to send the source map regardless of its size. */
  sourceMap?: boolean | undefined;
  /** Edited data in place of a sample. */
  data?: Record<string, unknown> | undefined;
}

/** The arguments of `promptls.preview`. */
export interface PreviewArguments {
  /** The name of a sample. */
  sample?: string | undefined;
  /** A row of the dataset, from 0. */
  row?: number | undefined;
  /** A token limit in place of the header's. */
  limit?: number | undefined;
  /** A truncation step in place of the header's, in tokens. */
  step?: number | undefined;
  /** The meta template for an evaluation prompt. */
  metaTemplate?: string | undefined;
  /** Whether to send the source map regardless of its size. */
  sourceMap?: boolean | undefined;
  /** Edited data in place of a sample. */
  data?: Record<string, unknown> | undefined;
  uri: string;
}

/** A sample, as the page lists it. */
export interface SampleName {
  name: string;
  /** The source of the sample: `samples/triage.yml`, `example 1`. */
  source: string;
  /** The row of the dataset, from 0, if the sample is one. */
  row?: number | undefined;
}

/** The source map of a text, packed. */
export interface PackedSegments {
  /** Ten numbers for each segment: start, end, file, line and character of the start and of the end of the range, verbatim, and the indices into `iterations` and `dataPaths`, or -1. */
  segments: number[];
  iterations: string[][];
  dataPaths: string[];
}

/** A rendered part. */
export interface Part {
  index: number;
  name: string;
  role: string;
  /** Text, or a list or mapping from the template instead. */
  content: unknown;
  tokens: number;
  truncationPriority: unknown;
  /** False if the limit removes the part. */
  kept: boolean;
  sections: string[] | null;
  /** The template line where the part begins. */
  line: number | null;
  /** The origin of the content, if that is known and the content is text. */
  sourceMap: PackedSegments | null;
}

/** An error of a rendering. */
export interface RenderingFailure {
  kind: string;
  message: string;
  path: string | null;
  line: number | null;
  /** A line of the rendered text. */
  renderedLine: number | null;
  excerpt: string | null;
}

/** A message to the model. */
export interface ChatMessage {
  role: string;
  content: unknown;
}

/** A rendered prompt. */
export interface Rendering {
  parts: Part[];
  /** The remaining parts as one text; null if a content is not text. */
  string: string | null;
  messages: ChatMessage[];
  tokens: number;
  tokensKept: number;
  /** The output of Jinja, before it is parsed as YAML. */
  text: string;
  seconds: number;
  /** Errors that Prompt Poet would raise later, while it counts, joins or truncates. */
  problems: RenderingFailure[];
  /** The origin of `text`, if requested. */
  sourceMap: PackedSegments | null;
}

/** The request parameters of the first experiment. */
export interface RequestParameters {
  /** The default model of the project if the experiment names none. */
  models: string[];
  temperature: number | null;
  maxTokens: number | null;
  seed: number | null;
  /** The `json_schema` of OpenAI's `response_format`: its name and the JSON Schema of the answer. */
  schema: Record<string, unknown> | null;
}

/** One of the prompts of an evaluation. */
export interface ViewerPrompt {
  label: string | null;
  tokens: number;
}

/** A training row that the retriever chose. */
export interface InContextExample {
  /** From 0. */
  row: number;
  text: string;
  tokens: number;
}

/** A chosen training row that does not fit. */
export interface DroppedExample {
  /** From 0. */
  row: number;
  text: string;
  tokens: number;
  /** The first label without it, if others have it. */
  label: string | null;
}

/** The layout of an evaluation prompt for one row. */
export interface Viewer {
  rows: number;
  /** From 0; null if the data is not a row of the dataset. */
  row: number | null;
  prompts: ViewerPrompt[];
  examples: InContextExample[];
  dropped: DroppedExample[];
  inferencer: string;
  retriever: string;
  /** Why the examples may differ from those of OpenCompass; null if they do not. */
  approximation: string | null;
  metaTemplate: string;
  metaTemplates: string[];
}

/** The result of `promptls.preview`. */
export interface PreviewResult {
  uri: string;
  path: string;
  version: number | null;
  kind: string;
  encoding: string;
  sample: SampleName | null;
  samples: SampleName[];
  /** The name of the dataset, if its rows can be chosen. */
  dataset: string | null;
  data: unknown;
  /** Functions that are not provided, for which stand-ins were called. */
  standIns: string[];
  /** What was not run because the folder is not trusted, as a sentence. */
  leftOut?: string | null | undefined;
  tokenLimit: number | null;
  truncationStep: number | null;
  request: RequestParameters;
  /** URIs of the template files, for the segments of the source maps. */
  files: string[];
  /** Set for evaluation prompts. */
  viewer: Viewer | null;
  rendering: Rendering | null;
  failure: RenderingFailure | null;
}

/** The arguments of `promptls.ask`: what is shown, and the model to ask. */
export interface AskArguments {
  /** The name of a sample. */
  sample?: string | undefined;
  /** A row of the dataset, from 0. */
  row?: number | undefined;
  /** A token limit in place of the header's. */
  limit?: number | undefined;
  /** A truncation step in place of the header's, in tokens. */
  step?: number | undefined;
  /** The meta template for an evaluation prompt. */
  metaTemplate?: string | undefined;
  /** Whether to send the source map regardless of its size. */
  sourceMap?: boolean | undefined;
  /** Edited data in place of a sample. */
  data?: Record<string, unknown> | undefined;
  uri: string;
  /** By default that of the first experiment, or of the project. */
  model?: string | undefined;
  /** The name under which the text is sent as it arrives. */
  follow?: string | undefined;
}

/** The parameters of `promptls/answerText`: more text of an answer that was asked for with `follow`. */
export interface AnswerTextParams {
  follow: string;
  text: string;
}

/** An answer to the prompt with one sample. */
export interface SingleAnswer {
  sample: string;
  model: string;
  response: string;
  inputTokens: number | null;
  outputTokens: number | null;
  /** In US dollars; null if the price is not known. */
  cost: number | null;
  seconds: number;
  /** Why the answer is incomplete, such as "cut off at `max_tokens`". */
  shortcomings: string[];
  /** The hash of the messages that were sent. */
  digest: string;
  /** ISO 8601. */
  date: string;
}

/** The result of `promptls.ask`. */
export interface AskResult {
  /** Null if the user stopped it, or did not allow it. */
  answer: SingleAnswer | null;
  /** Why there is no answer, or why it is not stored; empty if neither. */
  message: string;
}

/** A model that can be asked. */
export interface ModelChoice {
  name: string;
  detail: string;
}

/** The result of `promptls.previewAnswers`: stored answers to the prompt with the sample, oldest first. */
export interface AnswersResult {
  /** The default model. */
  model: string;
  models: ModelChoice[];
  answers: SingleAnswer[];
  /** The hash of the messages as the prompt renders now; empty if it does not. */
  digest: string;
}

/** The arguments of `promptls.saveData`: data to add to the files of a prompt. */
export interface SaveArguments {
  uri: string;
  to: "sample" | "example" | "dataset";
  data: Record<string, unknown>;
  /** The name of a new sample. */
  sample?: string | undefined;
  /** The answer: the output of an example, or the expected one of a row. */
  response?: string | undefined;
}

/** The result of `promptls.saveData`. */
export interface SaveResult {
  /** Where the data is now. */
  message: string;
  /** The name of the new sample. */
  sample: string | null;
}

/** The tokens of one text. */
export interface TextTokens {
  ids: number[];
  /** The start of each token, in UTF-16 code units. */
  starts: number[];
}

/** The tokens of some texts. */
export interface TokensAnswer {
  encoding: string;
  texts: TextTokens[];
}

/** A row of a dataset, as the page lists it. */
export interface DatasetRow {
  /** From 0. */
  row: number;
  text: string;
}

/** Rows of the dataset that match a search. */
export interface DatasetRowsAnswer {
  dataset: string;
  rows: DatasetRow[];
  start: number;
  matching: number;
  total: number;
}

/** A commit, or another prompt file, which has no subject and no date. */
export interface CommitName {
  /** The short hash, or the name of the file. */
  name: string;
  subject: string;
  /** ISO 8601. */
  date: string;
}

/** The rendering of another version, by default of the last commit. */
export interface CommittedAnswer {
  commit: CommitName;
  rendering: Rendering | null;
  failure: RenderingFailure | null;
  /** The versions that can be compared: commits that changed the file, and prompts in its folder. */
  others: CommitName[];
}

/** The text of a template file, for a page in a browser. */
export interface SourceAnswer {
  uri: string;
  name: string;
  text: string;
}

/** The choices of the reader of the truncation lab; missing ones are determined automatically. */
export interface LabOptions {
  input?: string | undefined;
  cache?: string | undefined;
  /** The current limit, in place of the file's. */
  limit?: number | undefined;
  /** The current step, in place of the file's. */
  step?: number | undefined;
  limits?: number[] | undefined;
  steps?: number[] | undefined;
  turns?: number | undefined;
  rows?: number | undefined;
}

/** The arguments of `promptls.truncationLab`. */
export interface LabArguments {
  input?: string | undefined;
  cache?: string | undefined;
  /** The current limit, in place of the file's. */
  limit?: number | undefined;
  /** The current step, in place of the file's. */
  step?: number | undefined;
  limits?: number[] | undefined;
  steps?: number[] | undefined;
  turns?: number | undefined;
  rows?: number | undefined;
  uri: string;
}

/** The arguments of `promptls.applyTruncation`: what to write into the header of a prompt. */
export interface ApplyTruncationArguments {
  uri: string;
  limit: number;
  step: number;
}

/** The result of `promptls.truncationLab`. */
export interface LabResult {
  uri: string;
  found: Lab | null;
  failure: RenderingFailure | null;
  cancelled: boolean;
  /** What was not run because the folder is not trusted, as a sentence. */
  leftOut?: string | null | undefined;
}
