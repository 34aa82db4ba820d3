/** The header of the table: a button per column, which sorts. */

import { columnWidths, filter, setFilter } from "./store";

const LEAST = 48;

/** Ascending, then descending, then the order of the dataset. */
export function Head({ name, isNumber }: { name: string; isNumber: boolean }) {
  const { sort, descending } = filter.value;
  const isSorted = sort === name;
  const direction = isSorted ? (descending === true ? "descending" : "ascending") : "none";
  return (
    <span role="columnheader" aria-sort={direction} class={isNumber ? "right" : undefined}>
      <button
        type="button"
        class="link"
        title={`Sort by ${name}`}
        onClick={() => {
          setFilter(
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
      <span
        class="resizer"
        title={`Drag to resize ${name}, double-click for the default width`}
        onPointerDown={(event) => {
          event.preventDefault();
          event.currentTarget.setPointerCapture(event.pointerId);
        }}
        onPointerMove={(event) => {
          const left = event.currentTarget.parentElement?.getBoundingClientRect().left;
          if (left !== undefined && event.currentTarget.hasPointerCapture(event.pointerId)) {
            const width = Math.max(LEAST, Math.round(event.clientX - left));
            columnWidths.value = { ...columnWidths.value, [name]: width };
          }
        }}
        onDblClick={() => {
          columnWidths.value = Object.fromEntries(
            Object.entries(columnWidths.value).filter(([key]) => key !== name),
          );
        }}
      />
    </span>
  );
}
