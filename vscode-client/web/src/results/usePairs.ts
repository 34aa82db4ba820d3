/** The rows of two runs side by side, fetched in pages as they become visible. */

import { useEffect, useRef, useState } from "preact/hooks";

import { errorMessage } from "../shared/errorMessage";
import type { PairsAnswer } from "../wire/results";
import { source } from "./store";

/** The number of rows of a page. */
export const PAIRS = 25;
/** The number of cached pages; readers seldom scroll further back at once. */
const MAX_PAGES = 80;

export type PairPage = PairsAnswer["rows"];

export interface FoundPairs {
  /** Undefined until the first answer. */
  total: number | undefined;
  failure: string;
  page: (number: number) => PairPage | undefined;
  /** Fetches a page that is not cached. */
  need: (number: number) => void;
}

interface Kept {
  key: string;
  total: number | undefined;
  failure: string;
  pages: Map<number, PairPage | "requested">;
}

export function usePairs(before: string, after: string, differing: boolean): FoundPairs {
  const [, redraw] = useState(0);
  const connection = source.value;
  const key = JSON.stringify([before, after, differing]);
  const kept = useRef<Kept>(undefined);
  if (kept.current?.key !== key) {
    kept.current = { key, total: undefined, failure: "", pages: new Map() };
  }
  const mine = kept.current;
  const changed = (): void => {
    if (kept.current === mine) {
      redraw((number) => number + 1);
    }
  };
  const need = (number: number): void => {
    if (connection === undefined || mine.pages.has(number)) {
      return;
    }
    mine.pages.set(number, "requested");
    const oldest = mine.pages.keys().next().value;
    if (mine.pages.size > MAX_PAGES && oldest !== undefined) {
      mine.pages.delete(oldest);
    }
    connection.pairs(before, after, differing, number * PAIRS, PAIRS).then(
      (answer) => {
        mine.pages.set(number, answer.rows);
        mine.total = answer.total;
        mine.failure = "";
        changed();
      },
      (error: unknown) => {
        mine.pages.delete(number);
        mine.failure = errorMessage(error);
        changed();
      },
    );
  };
  useEffect(() => {
    need(0);
  }, [key, connection]);
  return {
    total: mine.total,
    failure: mine.failure,
    page: (number) => {
      const found = mine.pages.get(number);
      return found === "requested" ? undefined : found;
    },
    need,
  };
}
