/** The types of promptls.truncation.report; `python -m promptls.docgen` writes this. */

/** One part of one of the chat's prompts; the same part in another turn is the same piece. */
export interface Piece {
  name: string;
  role: string;
  tokens: number;
  /** `truncation_priority`; null where it is no number. */
  priority: number | null;
}

/** A chat that was simulated. */
export interface Chat {
  /** What it comes from: `row 3`, or the sample's name. */
  name: string;
  /** Where that is: the dataset's file, `the examples`, … */
  source: string;
  /** How many of its turns, the last ones, were made up because the data has no more. */
  generated: number;
  pieces: Piece[];
  /** The prompt of each turn before truncation: indices into `pieces`, in order. */
  turns: number[][];
  /** The tokens of each turn's prompt before truncation. */
  tokens: number[];
  /** How many of them would be read from the cache if nothing were ever removed. */
  cached: number[];
}

/** The turns of the first chat under one limit and step. */
export interface Turns {
  /** Tokens that the model gets. */
  tokens: number[];
  /** How many of them are read from the cache; 0 in the first turn. */
  cached: number[];
  /** Tokens that were removed. */
  lost: number[];
  /** The removed parts of each turn, as runs: the first and the last place, the first and the last, … A place is an index, from 0, into the chat's `turns` of that turn. */
  removed: number[][];
  /** The turns, from 0, that cannot be truncated: Prompt Poet raises an error for them. */
  failed: number[];
}

/** One limit with one step, over all chats. */
export interface Cell {
  limit: number;
  step: number;
  /** The share of the tokens, from each chat's second turn on, that is read from the cache. */
  cacheRate: number;
  /** The share of what fits under the limit that is kept. */
  keptRate: number;
  /** Tokens removed, all turns together. */
  lost: number;
  /** How many of them would have fitted: the price of a large step. */
  needless: number;
  /** Turns in which other parts are removed than in the turn before: the cache starts again there. */
  breaks: number;
  /** `cacheRate` + `keptRate`: the step with the highest is the best one. */
  score: number;
  /** Why some turns cannot be truncated, each reason once; empty as a rule. */
  failures: string[];
  turns: Turns;
}

/** The step that is best under a limit. */
export interface Best {
  limit: number;
  /** Null where no step is better than another: nothing is removed, or nothing can be. */
  step: number | null;
  /** Why, in one or two sentences for people. */
  reason: string;
}

/** The rules of the prefix cache that was simulated. */
export interface Cache {
  /** `exact`, `openai`, `anthropic`, `google`, `deepseek` or `vllm`. */
  name: string;
  /** Tokens that a shared beginning must have to be kept at all. */
  least: number;
  /** Tokens are kept in multiples of so many. */
  block: number;
  words: string;
}

/** Where the prompts of the first chat differ ahead of what is cut, so that no step can help. */
export interface Unstable {
  /** The first part that differs between two turns. */
  part: string;
  /** Tokens ahead of it, which are all that a cache can read. */
  tokens: number;
}

/** The whole result. */
export interface Lab {
  path: string;
  encoding: string;
  /** Whether the counts are those of the nearest encoding, because the model's own is not public. */
  approximate: boolean;
  /** The input that grows, turn by turn. */
  input: string;
  /** The inputs that could grow instead. */
  inputs: string[];
  /** The present token limit, of the header or the settings. */
  limit: number | null;
  /** The present truncation step. */
  step: number | null;
  cache: Cache;
  /** The chats, the one whose turns the cells hold first; the others without `pieces` and `turns`. */
  chats: Chat[];
  /** The limits that were tried, the smallest first. */
  limits: number[];
  /** All steps that were tried under any limit, the smallest first. */
  steps: number[];
  /** For each limit all of its steps, the smallest first. */
  cells: Cell[];
  /** For each limit the best step. */
  best: Best[];
  /** The best step under the present limit, or under the one that serves best, with the reason. */
  advice: string;
  unstable: Unstable | null;
}
