import { expect, it } from "vitest";

import { sourceOf } from "../../src/results/embedded";
import type { ResultsView, Run } from "../../src/wire/results";

const run = (path: string): Run => ({ path, columns: ["id", "response"], notes: {} }) as unknown as Run;
const view: ResultsView = {
  runs: [run("/one.csv"), run("/two.csv")],
  comparisons: [],
  history: [],
  others: [],
  complete: true,
};
const table = (rows: string[][], places: number[], states: string) => ({
  columns: ["id", "response", "rendered_hash"],
  rows,
  places,
  states,
  messages: { h: [{ role: "user", content: "Hello" }] },
});
const source = sourceOf(
  {
    view,
    tables: [
      table(
        [
          ["a", "x", "h"],
          ["b", "y", ""],
        ],
        [0, 1],
        "gf",
      ),
      // The row at index 1 is left out.
      table(
        [
          ["a", "z", "h"],
          ["c", "y", ""],
        ],
        [0, 2],
        "gg",
      ),
    ],
    pairs: [
      [
        [0, 0, 1],
        [1, 1, 1],
        [null, 2, 1],
      ],
    ],
  },
  { save: () => undefined, copy: () => undefined },
);

it("answers rows by their place in the whole table", async () => {
  const { total, rows } = await source.rows("/two.csv", { places: [2] }, 0, 10);
  expect([total, rows[0]?.place, rows[0]?.cells.id]).toEqual([1, 2, "c"]);
});

it("pairs the rows of two runs, and leaves out what the report does not hold", async () => {
  const { total, rows } = await source.pairs("/one.csv", "/two.csv", true, 0, 10);
  expect(total).toBe(3);
  expect(rows.map(({ before, after }) => [before?.response, after?.response])).toEqual([
    ["x", "z"],
    ["y", undefined],
    [undefined, "y"],
  ]);
});

it("finds the rows that changed, from either run", async () => {
  expect(
    (await source.rows("/one.csv", { changedFrom: "/two.csv", kind: "failing" }, 0, 9)).rows.map(
      ({ place }) => place,
    ),
  ).toEqual([1]);
  expect(
    (await source.rows("/two.csv", { changedFrom: "/one.csv" }, 0, 9)).rows.map(({ place }) => place),
  ).toEqual([0, 2]);
});

it("has the messages of a row, where they were kept", async () => {
  expect((await source.messages("/two.csv", 0)).messages).toEqual([{ role: "user", content: "Hello" }]);
  expect((await source.messages("/two.csv", 2)).messages).toBeNull();
});
