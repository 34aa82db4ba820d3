import { describe, expect, it } from "vitest";

import queries from "../../../../tests/results_view/row_queries.json";
import { exportedText } from "../../src/results/exported";
import { foundRows, type KnownRow } from "../../src/results/rowFilter";
import type { RowFilter } from "../../src/wire/results";

const rows: KnownRow[] = queries.rows.map((cells, place) => ({
  place,
  kind: queries.kinds[place] as KnownRow["kind"],
  cells: Object.fromEntries(queries.columns.map((column, at) => [column, cells[at] ?? ""])),
}));
const sets = { changed: new Set([1, 4]), noted: new Set([queries.noted]) };

describe("a report finds the rows that the server finds", () => {
  it.each(
    queries.cases.map(({ filter, found }) => [JSON.stringify(filter), filter as RowFilter, found] as const),
  )("%s", (_, filter, found) => {
    expect(foundRows(rows, filter, sets).map(({ place }) => place)).toEqual(found);
  });
});

it("finds the rows that are not as in another run", () => {
  expect(
    foundRows(rows, { changedFrom: "/other.csv", kind: "good" }, sets).map(({ place }) => place),
  ).toEqual([4]);
});

it("exports rows with their notes, quoted where a table needs it", () => {
  const notes = { "1": { thumb: "up" as const, text: 'so, "good"\nhere' } };
  expect(exportedText(rows.slice(0, 2), ["id", "text"], notes, "csv")).toBe(
    'id,text,thumb,note\r\na,Where is my bill,,\r\nb,straße,up,"so, ""good""\nhere"\r\n',
  );
  expect(exportedText(rows.slice(0, 1), ["id"], {}, "jsonl")).toBe('{"id":"a"}\n');
});

it("exports no cell that a spreadsheet would calculate, and every number as it is", () => {
  const cells = { a: "=1+1", b: "-2.5", c: "@SUM(A1)", d: "-cmd" };
  const row = { place: 0, kind: "good", cells } as KnownRow;
  expect(exportedText([row], ["a", "b", "c", "d"], {}, "csv")).toBe(
    "a,b,c,d\r\n'=1+1,-2.5,'@SUM(A1),'-cmd\r\n",
  );
});
