/** The words that rows are looked for by. */

import { useEffect, useState } from "preact/hooks";

import { Icon } from "../shared/icons";
import { want, wanted } from "./store";

const PAUSE_MILLISECONDS = 200;

/** The words are looked for when typing pauses. */
export function Search() {
  const { search = "" } = wanted.value;
  const [words, setWords] = useState(search);
  useEffect(() => {
    setWords(search);
  }, [search]);
  useEffect(() => {
    const timer = setTimeout(() => {
      if (words !== (wanted.value.search ?? "")) {
        want({ search: words });
      }
    }, PAUSE_MILLISECONDS);
    return () => {
      clearTimeout(timer);
    };
  }, [words]);
  return (
    <span class="search">
      <Icon name="search" />
      <input
        id="search"
        type="search"
        placeholder="Search rows"
        aria-label="Search rows"
        value={words}
        onInput={(event) => {
          setWords(event.currentTarget.value);
        }}
      />
    </span>
  );
}
