/** What the server says of runs: the view of some of them, and the answers to what its page asks. */

export interface ResultsArguments {
  uri?: string;
  experiment?: string;
  run?: string;
  /** Tables of other runs; the first is what the others are compared with. */
  against?: string[];
}

/** A prompt that has not been run yet. */
export interface NoResults {
  runs: [];
  prompt: string;
  name: string;
}

/** Runs side by side: each is compared with the first, and the last is shown. */
export interface ResultsView {
  runs: Run[];
  comparisons: RunComparison[];
  /** The finished runs of the experiment, the oldest first. */
  history: HistoryRun[];
  /** Finished runs of other prompts and experiments beside them, the oldest first. */
  others: HistoryRun[];
  /** False while intervals, classes and comparisons are still worked out. */
  complete: boolean;
}

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
  /** Answers that do not have the form that the prompt demands. */
  invalid: number;
  cached: number;
  inputTokens: number;
  outputTokens: number;
  /** US dollars. */
  cost: number | null;
  paid: number | null;
  /** True where no call of the run takes money. */
  free: boolean;
  rowsChosen: string | null;
  /** True when the prompt changed after the run. */
  stale: boolean;
  commit: string | null;
  dirty: boolean | null;
  columns: string[];
  /** Columns that hold what was expected, each with the one that holds what was said. */
  expected: [string, string][];
  metrics: Metric[];
  byModel: { model: string; scores: Record<string, string> }[];
  classes: Classification[];
  /** By the row's place in the table. */
  notes: Notes;
  notesProblem: string | null;
  /** What a report does not hold, in sentences. */
  leftOut: string[];
}

export type Notes = Record<string, Note>;

export interface Note {
  thumb: Thumb | null;
  text: string;
}

export type Thumb = "up" | "down";

export interface Metric {
  name: string;
  kind: string;
  value: number | null;
  text: string;
  /** The interval of 95 %. */
  low: number | null;
  high: number | null;
  scored: number;
  unscored: number;
  good: string | null;
  lowerIsBetter: boolean;
  bars: { label: string; count: number }[];
}

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

export interface MetricComparison {
  name: string;
  kind: string;
  verdict: "better" | "worse" | "undecided";
  words: string;
  before: number;
  after: number;
  difference: number;
  low: number;
  high: number;
  /** Before, after, and how many rows; of very many, some. */
  points: [number, number, number][];
  /** In how many rows the score got higher, got lower and stayed. */
  moves: { higher: number; lower: number; same: number };
}

export interface HistoryRun {
  path: string;
  name: string;
  promptName: string;
  started: string;
  models: string[];
  rows: number;
  scores: Record<string, string>;
  values: Record<string, number | null>;
}

export interface Classification {
  expected: string;
  predicted: string;
  model: string | null;
  rows: number;
  failed: number;
  unlabelled: number;
  unanswered: number;
  accuracy: number;
  classes: { name: string; precision: number; recall: number; f1: number; support: number; predicted: number }[];
  averages: { name: string; precision: number; recall: number; f1: number }[];
  names: string[];
  confusion: number[][];
}

export type Cells = Record<string, string>;

export interface Row {
  /** Its place in the table, from 0. */
  place: number;
  cells: Cells;
}

export type RowKind = "all" | "good" | "failing" | "error" | "problem";

/** Which rows of a run are asked for, and in which order. */
export interface Wanted {
  kind?: RowKind;
  search?: string;
  equal?: Record<string, string>;
  sort?: string;
  descending?: boolean;
  /** Only those that are not as in the run of this table. */
  changedFrom?: string;
  /** Only those with a thumb or a note. */
  noted?: boolean;
  places?: number[];
}

export interface RowsAnswer {
  total: number;
  start: number;
  rows: Row[];
}

export interface PairsAnswer {
  total: number;
  start: number;
  rows: { before: Cells | null; after: Cells | null }[];
}

export interface Message {
  role: string;
  content: unknown;
}

export interface MessagesAnswer {
  /** Null where they are not kept any more. */
  messages: Message[] | null;
}

export interface NumbersAnswer {
  /** The rows of the data set, as a run takes them: `3,7-9,`. */
  rows: string;
  count: number;
  experiment: string;
}

export type ExportForm = "csv" | "jsonl" | "junit";
