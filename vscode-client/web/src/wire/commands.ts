/** The types of promptls.server.command_types; `python -m promptls.docgen` writes this. */

export type ModelErrorCode = "notFound" | "noPermissions" | "blocked" | "failed";

export type VerdictState = "passed" | "failed" | "errored";

export type ModelAnswer = ModelText | ModelFailure;

/** The parameters of `promptls/changed`: the rendering of a file may have changed. */
export interface ChangedParams {
  uri: string;
}

/** The verdict on a row of a run. */
export interface RowVerdict {
  /** From 1. */
  number: number;
  state: "passed" | "failed" | "errored";
  message: string;
  expected: string | null;
  actual: string;
  seconds: number | null;
  /** True if the prompt changed after the run. */
  stale: boolean;
}

/** The parameters of `promptls/rowVerdicts`: rows of a run that finished since the last message. */
export interface RowVerdictsParams {
  follow: string;
  verdicts: RowVerdict[];
}

/** The result of `promptls.rowVerdicts`. */
export interface RowVerdictsResult {
  verdicts: RowVerdict[];
}

/** A few-shot example of a prompt, as a test. */
export interface ExampleTest {
  /** From 1. */
  number: number;
  /** From 0. */
  line: number;
  label: string;
}

/** A prompt file with experiments. */
export interface PromptTests {
  uri: string;
  experiments: string[];
  examples: ExampleTest[];
}

/** The result of `promptls.experimentTests`. */
export interface ExperimentTestsResult {
  prompts: PromptTests[];
}

/** A run of an experiment, in a list. */
export interface ListedRun {
  name: string;
  /** The absolute path of the table, or of the unfinished run. */
  table: string;
  /** In ISO 8601. */
  started: string;
  status: "finished" | "running" | "stopped";
  scores: Record<string, string>;
  models: string[];
  /** What is unusual about it: failures, chosen rows, answers from the cache. */
  notes: string;
}

/** The result of `promptls.listRuns`, the latest run first. */
export interface ListedRunsResult {
  runs: ListedRun[];
}

/** A row of a dataset, as a test. */
export interface RowTest {
  /** From 1. */
  number: number;
  /** The line of the dataset, from 0, if it is known. */
  line: number | null;
  label: string;
}

/** The result of `promptls.experimentRows`: the rows, and the verdicts of the last runs. */
export interface ExperimentRows {
  /** The URI of the dataset. */
  dataset: string | null;
  rows: RowTest[];
  /** True if the dataset has more rows than are listed. */
  more: boolean;
  verdicts: RowVerdict[];
  exampleVerdicts: RowVerdict[];
}

/** The arguments of `promptls.runExperiment`. */
export interface RunArguments {
  uri: string;
  experiment?: string | undefined;
  models?: string[] | undefined;
  rows?: string | undefined;
  follow?: string | undefined;
}

/** The result of `promptls.runExperiment`. */
export interface RunResult {
  /** The absolute path of the table; empty if nothing was run. */
  run: string;
  name: string;
  rows: number;
  failed: number;
  scores: Record<string, number>;
  cancelled: boolean;
  message: string;
  /** The cancelled run, to be resumed; empty if nothing was finished. */
  resume?: string | undefined;
}

/** The result of `promptls.keyVariables`: environment variables for the keys that a command needs. */
export interface KeyVariablesResult {
  variables: string[];
}

/** The result of `promptls.newPrompt`: the texts of the files, by their relative paths. */
export interface NewPromptResult {
  files: Record<string, string>;
}

/** The result of `promptls.generateDataset`. */
export interface DatasetResult {
  uri: string;
  rows: number;
  requested?: number | undefined;
  cancelled: boolean;
  message: string;
}

/** The result of `promptls.leaveOneOut`, limited to what the extension reads. */
export interface LeaveOneOutResult {
  message: string;
}

/** The tokens of a part. */
export interface PartTokens {
  name: string;
  tokens: number;
}

/** The result of `promptls.tokens`, limited to what the extension reads. */
export interface TokensResult {
  total: number;
  /** The tokens that remain after truncation. */
  kept: number;
  /** The sample that the prompt was rendered with. */
  sample: string;
  limit: number | null;
  encoding: string;
  /** True if the nearest encoding was used, because the model's own tokenizer is not public. */
  approximate: boolean;
  parts: PartTokens[];
}

/** A message to a model. */
export interface ModelQuestionMessage {
  role: string;
  content: unknown;
}

/** The parameters of `promptls/askModel`: a request of a run to a model of the editor. */
export interface ModelQuestion {
  /** The run that sends the request; a refusal applies to the whole run. */
  run: string;
  /** `<vendor>/<family>`. */
  model: string;
  messages: ModelQuestionMessage[];
  parameters: Record<string, unknown>;
}

/** The answer of a model. */
export interface ModelText {
  text: string;
  model: string;
  inputTokens: number | null;
  outputTokens: number | null;
}

/** The error that prevented an answer. */
export interface ModelError {
  code: "notFound" | "noPermissions" | "blocked" | "failed";
  message: string;
}

/** An answer that failed. */
export interface ModelFailure {
  error: ModelError;
}
