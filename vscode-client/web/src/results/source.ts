/** Where the page gets what it shows: the server behind a panel, or the data of a report. */

import type {
  ExportForm,
  MessagesAnswer,
  Notes,
  NumbersAnswer,
  PairsAnswer,
  ResultsView,
  RowFilter,
  RowsAnswer,
  RunningRun,
  Thumb,
} from "../wire/results";
import type { Page } from "./messages";

export interface Source {
  /** What a report cannot do, because there is no server: choose runs, run, keep notes, open files. */
  live: Live | undefined;
  forms: readonly ExportForm[];
  rows(run: string, filter: RowFilter, start: number, count: number): Promise<RowsAnswer>;
  pairs(
    before: string,
    after: string,
    differing: boolean,
    start: number,
    count: number,
  ): Promise<PairsAnswer>;
  messages(run: string, place: number): Promise<MessagesAnswer>;
  export(run: string, name: string, filter: RowFilter, form: ExportForm): void;
  copy(text: string, what: string): void;
}

export interface Live {
  choose(run: string, against: string[]): void;
  /** Undefined where there is no editor. */
  open: ((path: string) => void) | undefined;
  note(run: string, place: number, thumb: Thumb | null, text: string): Promise<{ notes: Notes }>;
  numbers(run: string, filter: RowFilter): Promise<NumbersAnswer>;
  runAgain(prompt: string, again?: RunAgain): void;
  /** Answers the question of what a run takes. */
  confirm(id: number, yes: boolean): void;
  cancelRun(id: string): void;
}

/** What a run is to do again; without the name of an experiment, it is the first one of the prompt. */
export interface RunAgain {
  experiment?: string;
  /** Rows of the dataset; all where they are not named. */
  rows?: string;
  /** Whether models are asked again where their answers are known. */
  fresh?: boolean;
  /** The table of a partial run, to run the rows that it left out. */
  complete?: string;
}

/** What is asked before a run begins. */
export interface Question {
  id: number;
  title: string;
  message: string;
}

export interface Receiver {
  show(view: ResultsView, page?: Page): void;
  fail(message: string): void;
  nothing(prompt: string, name: string): void;
  running(runs: RunningRun[]): void;
  planning(): void;
  question(asked: Question): void;
}
