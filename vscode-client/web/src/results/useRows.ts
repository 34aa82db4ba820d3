/** The rows that match a query. */

import type { Row, RowFilter } from "../wire/results";
import { storedNotes } from "./store";
import { usePages } from "./usePages";

const PAGE = 100;

export interface FoundRows {
  /** Undefined until the first answer. */
  total: number | undefined;
  failure: string;
  row(at: number): Row | undefined;
  /** Fetches the missing rows of a range. */
  need(start: number, end: number): void;
}

export function useRows(run: string, filter: RowFilter): FoundRows {
  // Rows with a note are known when their notes are stored, which is after the page shows them.
  const noted = filter.noted === true ? storedNotes.value : 0;
  const { total, failure, page, need } = usePages<Row>(
    JSON.stringify([run, filter, noted]),
    PAGE,
    (from, start, count) => from.rows(run, filter, start, count),
  );
  return {
    total,
    failure,
    row: (at) => page(Math.floor(at / PAGE))?.[at % PAGE],
    need: (start, end) => {
      const last = Math.floor(Math.max(start, end - 1) / PAGE);
      for (let number = Math.floor(start / PAGE); number <= last; number += 1) {
        need(number);
      }
    },
  };
}
