/** The search field of the rows. */

import { useEffect, useState } from "preact/hooks";

import { Icon } from "../shared/icons";
import { filter, setFilter } from "./store";

const PAUSE_MILLISECONDS = 200;

/** Searches when typing pauses. */
export function Search() {
  const { search = "" } = filter.value;
  const [query, setQuery] = useState(search);
  useEffect(() => setQuery(search), [search]);
  useEffect(() => {
    const timer = setTimeout(() => {
      if (query !== (filter.value.search ?? "")) {
        setFilter({ search: query });
      }
    }, PAUSE_MILLISECONDS);
    return () => clearTimeout(timer);
  }, [query]);
  return (
    <span class="search">
      <Icon name="search" />
      <input
        id="search"
        type="search"
        placeholder="Search rows"
        aria-label="Search rows"
        value={query}
        onInput={(event) => setQuery(event.currentTarget.value)}
      />
    </span>
  );
}
