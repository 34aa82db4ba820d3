/** The head of the table: a button a column, which sorts. */

import { want, wanted } from "./store";

/** Ascending, then descending, then the order of the dataset again. */
export function Head({ name, isNumber }: { name: string; isNumber: boolean }) {
  const { sort, descending } = wanted.value;
  const isSorted = sort === name;
  const direction = isSorted ? (descending === true ? "descending" : "ascending") : "none";
  return (
    <span role="columnheader" aria-sort={direction} class={isNumber ? "right" : undefined}>
      <button
        type="button"
        class="link"
        title={`Sort by ${name}`}
        onClick={() => {
          want(
            !isSorted
              ? { sort: name, descending: undefined }
              : descending === true
                ? { sort: undefined, descending: undefined }
                : { descending: true },
          );
        }}
      >
        <bdi>{name}</bdi>
        {isSorted ? <span aria-hidden="true">{descending === true ? " ↓" : " ↑"}</span> : null}
      </button>
    </span>
  );
}
