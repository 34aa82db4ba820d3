/** Filters and sorts rows like the server, over rows that are all in the page. */

import type { Cells, RowFilter, RowKind } from "../wire/results";

/** A row, with the verdicts of the run's metrics. */
export interface KnownRow {
  place: number;
  cells: Cells;
  kind: Exclude<RowKind, "all">;
}

export interface Sets {
  /** The indices of the rows that differ from the run of `changedFrom`. */
  changed: ReadonlySet<number> | undefined;
  noted: ReadonlySet<number>;
}

export function foundRows(rows: readonly KnownRow[], filter: RowFilter, sets: Sets): KnownRow[] {
  const needle = (filter.search ?? "").toLowerCase();
  const equal = Object.entries(filter.equal ?? {});
  const places = filter.places === undefined ? undefined : new Set(filter.places);
  const found = rows.filter(
    ({ place, cells, kind }) =>
      isOfKind(kind, filter.kind ?? "all") &&
      equal.every(([column, text]) => cells[column] === text) &&
      (filter.changedFrom === undefined || sets.changed?.has(place) === true) &&
      (filter.noted !== true || sets.noted.has(place)) &&
      places?.has(place) !== false &&
      (needle === "" || Object.values(cells).some((cell) => cell.toLowerCase().includes(needle))),
  );
  return filter.sort === undefined ? found : sorted(found, filter.sort, filter.descending === true);
}

/** Errors and answers in the wrong format count as failing. */
function isOfKind(kind: KnownRow["kind"], selected: RowKind): boolean {
  return selected === "all" || kind === selected || (selected === "failing" && kind !== "good");
}

/** Sorts numerically if every cell is a number; rows without a value come last. */
function sorted(rows: readonly KnownRow[], column: string, descending: boolean): KnownRow[] {
  const cells = rows.map((row) => row.cells[column] ?? "");
  const numbers = cells.map(Number);
  const areNumbers = cells.every((cell, at) => cell === "" || !Number.isNaN(numbers[at]));
  const folded = cells.map((cell) => cell.toLowerCase());
  const sign = descending ? -1 : 1;
  const order = (left: number, right: number): number => {
    const emptiness = Number(cells[left] === "") - Number(cells[right] === "");
    if (emptiness !== 0) {
      return emptiness;
    }
    const [one, other] = areNumbers
      ? [numbers[left] ?? 0, numbers[right] ?? 0]
      : [folded[left] ?? "", folded[right] ?? ""];
    return one < other ? -sign : one > other ? sign : 0;
  };
  return rows
    .map((_, at) => at)
    .sort(order)
    .flatMap((at) => rows[at] ?? []);
}
