/** The rows that match a query, fetched in pages as they become visible. */

import { useEffect, useRef, useState } from "preact/hooks";

import { errorMessage } from "../shared/errorMessage";
import type { Row, RowFilter } from "../wire/results";
import { source, storedNotes } from "./store";

export const PAGE = 100;
/** The number of cached pages. */
const MAX_PAGES = 60;

export interface FoundRows {
  /** Undefined until the first answer. */
  total: number | undefined;
  failure: string;
  row(at: number): Row | undefined;
  /** Fetches the missing rows of a range. */
  need(start: number, end: number): void;
}

export function useRows(run: string, filter: RowFilter): FoundRows {
  const [, redraw] = useState(0);
  // Rows with a note are known when their notes are stored, which is after the page shows them.
  const noted = filter.noted === true ? storedNotes.value : 0;
  const key = JSON.stringify([run, filter, noted]);
  const cache = useRef<{
    key: string;
    total: number | undefined;
    failure: string;
    pages: Map<number, Row[] | "pending">;
  }>(undefined);
  const rows = source.value;
  const before = cache.current;
  if (before?.key !== key) {
    // The previous rows stay visible until the answer arrives.
    cache.current = { key, total: before?.total, failure: "", pages: new Map() };
  }
  // An effect of an earlier render must not fill the pages of a later query.
  const mine = cache.current;
  const fetchPage = (number: number): void => {
    if (mine === undefined || rows === undefined || mine.pages.has(number)) {
      return;
    }
    mine.pages.set(number, "pending");
    const oldest = mine.pages.keys().next().value;
    if (mine.pages.size > MAX_PAGES && oldest !== undefined) {
      mine.pages.delete(oldest);
    }
    rows.rows(run, filter, number * PAGE, PAGE).then(
      (answer) => {
        mine.pages.set(number, answer.rows);
        mine.total = answer.total;
        mine.failure = "";
        if (cache.current === mine) {
          redraw((count) => count + 1);
        }
      },
      (error: unknown) => {
        mine.pages.delete(number);
        mine.total = 0;
        mine.failure = errorMessage(error);
        if (cache.current === mine) {
          redraw((count) => count + 1);
        }
      },
    );
  };
  useEffect(() => {
    fetchPage(0);
  }, [key, rows]);
  return {
    total: mine?.total,
    failure: mine?.failure ?? "",
    row: (at) => {
      const found = mine?.pages.get(Math.floor(at / PAGE));
      return found === undefined || found === "pending" ? undefined : found[at % PAGE];
    },
    need: (start, end) => {
      for (
        let number = Math.floor(start / PAGE);
        number <= Math.floor(Math.max(start, end - 1) / PAGE);
        number += 1
      ) {
        fetchPage(number);
      }
    },
  };
}
