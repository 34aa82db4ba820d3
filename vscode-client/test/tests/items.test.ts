import { expect, it } from "vitest";

import { idOf, rangesOf, requestedRuns, sortTextOf, type TestData } from "../../src/tests/items";

const URI = "file:///triage.yml.j2";
const row = (number: number, experiment = "triage"): TestData => ({
  kind: "row",
  uri: URI,
  experiment,
  number,
});
const experiment = (name: string): TestData => ({ kind: "experiment", uri: URI, experiment: name });
const experimentsOf = () => ["triage", "other"];

it("writes numbers of rows as the server reads them", () => {
  expect(rangesOf([9, 3, 8, 7])).toBe("3,7-9,");
  expect(rangesOf([1])).toBe("1,");
});

it("asks one run of all chosen rows of an experiment", () => {
  const requested = requestedRuns([row(4), row(2), row(3), row(1, "other")], experimentsOf);
  expect(requested.map(({ experiment: name, rows }) => [name, rows])).toEqual([
    ["triage", "2-4,"],
    ["other", "1,"],
  ]);
});

it("lets a chosen experiment take in its chosen rows", () => {
  expect(requestedRuns([row(4), experiment("triage")], experimentsOf)).toEqual([
    { uri: URI, experiment: "triage", examples: false },
  ]);
});

it("runs every experiment of a prompt but those that are left out", () => {
  const requested = requestedRuns([{ kind: "prompt", uri: URI }], experimentsOf, [experiment("other")]);
  expect(requested.map(({ experiment: name }) => name)).toEqual(["triage"]);
});

it("asks a run of its own for each example", () => {
  const requested = requestedRuns(
    [{ kind: "example", uri: URI, experiment: "triage", number: 2 }, row(2)],
    experimentsOf,
  );
  expect(requested.map(({ rows, examples }) => [rows, examples])).toEqual([
    ["2,", false],
    ["example 2", true],
  ]);
});

it("tells rows and examples of one number apart, and sorts by number", () => {
  const example: TestData = { kind: "example", uri: URI, experiment: "triage", number: 10 };
  expect(idOf(example)).not.toBe(idOf(row(10)));
  expect([row(10), row(9), example].map(sortTextOf).sort()).toEqual(
    [example, row(9), row(10)].map(sortTextOf),
  );
});
