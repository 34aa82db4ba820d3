/** A long list of the server, fetched in pages as they become visible. */

import { useEffect, useRef, useState } from "preact/hooks";

import { errorMessage } from "../shared/errorMessage";
import type { Source } from "./source";
import { source } from "./store";

/** The number of cached pages; readers seldom scroll further back at once. */
const MAX_PAGES = 60;

export interface Pages<Item> {
  /** Undefined until the first answer; after a change of the list, the previous total until its first answer. */
  total: number | undefined;
  failure: string;
  page: (number: number) => readonly Item[] | undefined;
  /** Fetches a page that is not cached. */
  need: (number: number) => void;
}

/** Returns the pages of the list that `key` identifies; `fetch` returns some of its items. */
export function usePages<Item>(
  key: string,
  size: number,
  fetch: (from: Source, start: number, count: number) => Promise<{ total: number; rows: Item[] }>,
): Pages<Item> {
  const [, redraw] = useState(0);
  const cache = useRef<{
    key: string;
    total: number | undefined;
    failure: string;
    pages: Map<number, readonly Item[] | "pending">;
  }>(undefined);
  const from = source.value;
  if (cache.current?.key !== key) {
    cache.current = { key, total: cache.current?.total, failure: "", pages: new Map() };
  }
  // An effect of an earlier render must not fill the pages of a later list.
  const mine = cache.current;
  const changed = (): void => {
    if (cache.current === mine) {
      redraw((count) => count + 1);
    }
  };
  const need = (number: number): void => {
    if (from === undefined || mine.pages.has(number)) {
      return;
    }
    mine.pages.set(number, "pending");
    const oldest = mine.pages.keys().next().value;
    if (mine.pages.size > MAX_PAGES && oldest !== undefined) {
      mine.pages.delete(oldest);
    }
    fetch(from, number * size, size).then(
      ({ rows, total }) => {
        mine.pages.set(number, rows);
        mine.total = total;
        mine.failure = "";
        changed();
      },
      (error: unknown) => {
        mine.pages.delete(number);
        mine.total = 0;
        mine.failure = errorMessage(error);
        changed();
      },
    );
  };
  useEffect(() => need(0), [key, from]);
  return {
    total: mine.total,
    failure: mine.failure,
    page: (number) => {
      const found = mine.pages.get(number);
      return found === "pending" ? undefined : found;
    },
    need,
  };
}
