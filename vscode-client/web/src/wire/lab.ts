/** The types of promptls.truncation.lab_report; `python -m promptls.docgen` writes this. */

/** One part of one of the chat's prompts; the same part in different turns is one piece. */
export interface Piece {
  name: string;
  role: string;
  tokens: number;
  /** `truncation_priority`; null if it is not a number. */
  priority: number | null;
}

/** A chat that was simulated. */
export interface Chat {
  /** The origin of the chat: `row 3`, or the sample's name. */
  name: string;
  /** The file of the origin: the dataset's file, `the examples`, … */
  source: string;
  /** The number of turns at the end that were generated because the data has no more messages. */
  generated: number;
  pieces: Piece[];
  /** The prompt of each turn before truncation: indices into `pieces`, in order. */
  turns: number[][];
  /** The tokens of each turn's prompt before truncation. */
  tokens: number[];
  /** The number of tokens that would be read from the cache without truncation. */
  cached: number[];
}

/** The turns of the first chat under one limit and step. */
export interface Turns {
  /** The number of tokens that the model receives. */
  tokens: number[];
  /** The number of these tokens that are read from the cache; 0 in the first turn. */
  cached: number[];
  /** The number of removed tokens. */
  lost: number[];
  /** The removed parts of each turn, as runs: the first and the last index, the first and the last, … An index is a 0-based position in the chat's `turns` of that turn. */
  removed: number[][];
  /** The 0-based turns that cannot be truncated, because Prompt Poet raises an error. */
  failed: number[];
}

/** One limit with one step, over all chats. */
export interface Cell {
  limit: number;
  step: number;
  /** The share of tokens read from the cache, from each chat's second turn on. */
  cacheRate: number;
  /** The share of the tokens that fit under the limit that is not removed. */
  keptRate: number;
  /** The number of tokens removed over all turns. */
  lost: number;
  /** The number of removed tokens that would have fitted: the cost of a large step. */
  needless: number;
  /** The number of turns in which different parts are removed than in the previous turn. In such a turn, the cache starts over. */
  breaks: number;
  /** `cacheRate` + `keptRate`: the step with the highest is the best one. */
  score: number;
  /** The distinct reasons why turns cannot be truncated; usually empty. */
  failures: string[];
  turns: Turns;
}

/** The best step under a limit. */
export interface Best {
  limit: number;
  /** Null if nothing is removed, or if some turns cannot be truncated. */
  step: number | null;
  /** The reason, in one or two sentences. */
  reason: string;
}

/** The rules of the prefix cache that was simulated. */
export interface Cache {
  /** `exact`, `openai`, `anthropic`, `google`, `deepseek` or `vllm`. */
  name: string;
  /** The minimum length of a shared beginning that is cached, in tokens. */
  least: number;
  /** The granularity of the cache: it stores multiples of this many tokens. */
  block: number;
  description: string;
}

/** The place where the prompts of the first chat differ before any truncation, so that no step helps. */
export interface Unstable {
  /** The first part that differs between two turns. */
  part: string;
  /** The number of tokens before it, which is the most that a cache can read. */
  tokens: number;
}

/** What the provider reported in the last run of the prompt's experiment that used a prefix cache. */
export interface MeasuredCache {
  run: string;
  models: string[];
  /** The share of all input tokens that were read from the cache. */
  cacheRate: number;
}

/** The complete result. */
export interface Lab {
  path: string;
  encoding: string;
  /** Whether the counts are those of the nearest encoding, because the model's own is not public. */
  approximate: boolean;
  /** The input that grows in each turn. */
  input: string;
  /** The inputs that could grow instead. */
  inputs: string[];
  /** The current token limit, from the header or the settings. */
  limit: number | null;
  /** The current truncation step. */
  step: number | null;
  cache: Cache;
  /** The chats, starting with the one whose turns are in the cells; the others lack `pieces` and `turns`. */
  chats: Chat[];
  /** The limits that were tried, in ascending order. */
  limits: number[];
  /** All steps that were tried under any limit, in ascending order. */
  steps: number[];
  /** For each limit all of its steps, in ascending order. */
  cells: Cell[];
  /** For each limit the best step. */
  best: Best[];
  /** The best step under the current limit, or under the limit with the best score, with the reason. */
  advice: string;
  unstable: Unstable | null;
  measured?: MeasuredCache | null | undefined;
}
