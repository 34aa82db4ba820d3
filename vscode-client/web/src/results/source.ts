/** Where the page gets its content: from the server behind a panel, or from the data of a report. */

import type {
  ExportForm,
  MessagesAnswer,
  NoteAnswer,
  NumbersAnswer,
  PairsAnswer,
  RowFilter,
  RowsAnswer,
  Thumb,
} from "../wire/results";

export interface Source {
  /**
   * What is not possible in a report, because there is no server: choosing runs, running, writing notes,
   * opening files.
   */
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
  /** Undefined without an editor. */
  open: ((path: string) => void) | undefined;
  note(run: string, place: number, thumb: Thumb | null, text: string): Promise<NoteAnswer>;
  numbers(run: string, filter: RowFilter): Promise<NumbersAnswer>;
  runAgain(prompt: string, again?: RunAgain): void;
  /** Answers the question before a run. */
  confirm(id: number, yes: boolean): void;
  cancelRun(id: string): void;
}

/** What to run again; without an experiment's name, the first one of the prompt. */
export interface RunAgain {
  experiment?: string;
  /** Rows of the dataset; all rows if undefined. */
  rows?: string;
  /** Whether to ask models again instead of using cached answers. */
  fresh?: boolean;
  /** The table of a partial run, to run its missing rows. */
  complete?: string;
}

/** The question before a run starts. */
export interface Question {
  id: number;
  title: string;
  message: string;
}
