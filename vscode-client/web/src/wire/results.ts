/** The types of promptls.results_view.results_wire; `python -m promptls.docgen` writes this. */

export type ExportForm = "csv" | "jsonl" | "junit" | "html";

export type RowKind = "all" | "good" | "failing" | "error" | "problem";

export type Thumb = "up" | "down";

export type Verdict = "better" | "worse" | "inconclusive";

export type Notes = Record<string, Note>;

export type Cells = Record<string, string>;

/** The arguments of `promptls.showResults`: a run, or a prompt and one of its experiments. */
export interface ResultsArguments {
  uri?: string | undefined;
  experiment?: string | undefined;
  /** The table of a run. */
  run?: string | undefined;
  /** Tables of other runs; the others are compared with the first. */
  against?: string[] | undefined;
}

/** A note on a row. */
export interface Note {
  thumb: "up" | "down" | null;
  text: string;
}

/** A bar of a distribution. */
export interface Bar {
  label: string;
  count: number;
}

/** The scores of a run under one metric. */
export interface Metric {
  name: string;
  kind: string;
  value: number | null;
  text: string;
  /** The lower end of the 95 % interval. */
  low: number | null;
  high: number | null;
  scored: number;
  unscored: number;
  good: string | null;
  lowerIsBetter: boolean;
  bars: Bar[];
}

/** The scores of one model, by metric. */
export interface ModelScores {
  model: string;
  scores: Record<string, string>;
}

/** The scores of one class. */
export interface ClassScores {
  name: string;
  precision: number;
  recall: number;
  f1: number;
  support: number;
  predicted: number;
}

/** The scores of all classes together. */
export interface AverageScores {
  name: string;
  precision: number;
  recall: number;
  f1: number;
}

/** A classification report. */
export interface Classification {
  expected: string;
  predicted: string;
  model: string | null;
  rows: number;
  failed: number;
  unlabeled: number;
  unanswered: number;
  accuracy: number;
  classes: ClassScores[];
  averages: AverageScores[];
  names: string[];
  confusion: number[][];
}

/** A run. */
export interface Run {
  /** The absolute path of the table. */
  path: string;
  name: string;
  experiment: string;
  prompt: string;
  promptName: string;
  dataset: string | null;
  started: string;
  seconds: number;
  models: string[];
  rows: number;
  failed: number;
  /** Answers without the format that the prompt requires. */
  invalid: number;
  cached: number;
  inputTokens: number;
  outputTokens: number;
  /** Input tokens that the provider read from its prefix cache. */
  cachedInputTokens: number;
  /** Output tokens of reasoning. */
  reasoningTokens: number;
  /** US dollars. */
  cost: number | null;
  paid: number | null;
  /** True if no call of the run costs money. */
  free: boolean;
  /** The rows of a partial run; null for all rows of the dataset. */
  rowsChosen: string | null;
  isComplete: boolean;
  /** True for a partial run over rows of a dataset, unless the prompt changed after it. */
  canComplete: boolean;
  /** True if the prompt changed after the run. */
  stale: boolean;
  commit: string | null;
  dirty: boolean | null;
  columns: string[];
  /** Columns with the expected values, each with the column of the answers. */
  expected: [string, string][];
  metrics: Metric[];
  byModel: ModelScores[];
  classes: Classification[];
  /** By the row's index in the table. */
  notes: Record<string, Note>;
  notesProblem: string | null;
  /** What a report leaves out, in sentences. */
  leftOut: string[];
}

/** The numbers of rows with a higher, a lower and the same score. */
export interface Moves {
  higher: number;
  lower: number;
  same: number;
}

/** Two runs under one metric. */
export interface MetricComparison {
  name: string;
  kind: string;
  verdict: "better" | "worse" | "inconclusive";
  message: string;
  before: number;
  after: number;
  difference: number;
  low: number;
  high: number;
  pValue: number | null;
  /** Score before, score after, number of rows; a selection if there are very many. */
  points: [number, number, number][];
  moves: Moves;
}

/** A run compared with the first one. */
export interface RunComparison {
  run: string;
  /** Why the runs cannot be compared. */
  problem: string | null;
  beforeName: string;
  afterName: string;
  pairs: number;
  better: number;
  worse: number;
  metrics: MetricComparison[];
  notes: string[];
}

/** A finished run, in a list. */
export interface HistoryRun {
  path: string;
  name: string;
  promptName: string;
  started: string;
  models: string[];
  rows: number;
  rowsChosen: string | null;
  /** True if the run went over all rows of its dataset. */
  isComplete: boolean;
  /** True for a complete run of the shown run's experiment and data: a point of the trend. */
  isComparable: boolean;
  /** Answers of earlier calls, from the cache. */
  cached: number;
  scores: Record<string, string>;
  values: Record<string, number | null>;
}

/** Runs side by side: each is compared with the first, and the last is shown. */
export interface ResultsView {
  runs: Run[];
  comparisons: RunComparison[];
  /** The finished runs of the experiment, the oldest first. */
  history: HistoryRun[];
  /** Finished runs of other prompts and experiments in the same folder, the oldest first. */
  others: HistoryRun[];
  /** False while intervals, classes and comparisons are still computed. */
  complete: boolean;
}

/** A prompt that was not run yet. */
export interface NoResults {
  runs: [];
  prompt: string;
  name: string;
}

/** A row of a table. */
export interface Row {
  /** The index in the table, from 0. */
  place: number;
  cells: Record<string, string>;
}

/** The requested rows of a run, and their order. */
export interface RowFilter {
  kind?: "all" | "good" | "failing" | "error" | "problem" | undefined;
  search?: string | undefined;
  equal?: Record<string, string> | undefined;
  sort?: string | undefined;
  descending?: boolean | undefined;
  /** Only rows that differ from those of the run with this table. */
  changedFrom?: string | undefined;
  /** Only rows with a thumb or a note. */
  noted?: boolean | undefined;
  places?: number[] | undefined;
}

/** A page of rows. */
export interface RowsAnswer {
  total: number;
  start: number;
  rows: Row[];
}

/** Rows as text, for a coding agent. */
export interface TextAnswer {
  text: string;
}

/** The cells of a row in two runs; null if a run does not have it. */
export interface PairedRow {
  before: Record<string, string> | null;
  after: Record<string, string> | null;
}

/** A page of rows of two runs. */
export interface PairsAnswer {
  total: number;
  start: number;
  rows: PairedRow[];
}

/** A message to a model. */
export interface Message {
  role: string;
  content: unknown;
}

/** The messages of a row. */
export interface MessagesAnswer {
  /** Null if they are no longer stored. */
  messages: Message[] | null;
}

/** All notes of a run, by the row's index in the table. */
export interface NoteAnswer {
  notes: Record<string, Note>;
}

/** Rows of a table as rows of the dataset. */
export interface NumbersAnswer {
  /** In the syntax of run arguments: `3,7-9,`. */
  rows: string;
  count: number;
  experiment: string;
}

/** The result of an export. */
export interface ExportAnswer {
  rows: number;
  /** The exported file, for a page in a browser. */
  text?: string | undefined;
}

/** An unfinished run. */
export interface RunningRun {
  id: string;
  experiment: string;
  message: string;
  /** From 0 to 1. */
  share: number;
  canCancel: boolean;
}

/** The unfinished runs of a results folder. */
export interface RunningAnswer {
  folder: string;
  runs: RunningRun[];
}

/** The rows of a run in a report. */
export interface PackedTable {
  columns: string[];
  rows: string[][];
  places: number[];
  /** One letter per row. */
  states: string;
  /** By the hash of the request. */
  messages: Record<string, Message[]>;
}

/** The data of a report. */
export interface Report {
  view: ResultsView;
  tables: PackedTable[];
  /** For each run but the first: the row's index there, its index here, and 1 if the rows differ. */
  pairs: (([number | null, number | null, number])[])[];
}
