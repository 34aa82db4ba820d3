import { describe, expect, it } from "vitest";

import { inputsOf, shortScore, usualColumns, verdictOf } from "../../src/results/columns";
import { chosenRows, duration, formatDifference, formatScore, moment } from "../../src/results/formatScores";
import { money } from "../../src/shared/format";
import type { Metric, Run } from "../../src/wire/results";

const metric = (name: string, good: string | null): Metric =>
  ({ name, good, kind: good === null ? "numeric" : "discrete" }) as Metric;
const run = {
  columns: [
    "text",
    "id",
    "response",
    "match",
    "match_reason",
    "error",
    "answer_note",
    "model",
    "seconds",
    "rendered_hash",
  ],
  metrics: [metric("match", "pass")],
  models: ["one"],
  failed: 0,
  invalid: 0,
} as unknown as Run;

describe("columns", () => {
  it("shows the id, the scores and the answer first, and leaves aside what says nothing", () => {
    expect(usualColumns(run)).toEqual(["id", "match", "response", "text"]);
    expect(usualColumns({ ...run, failed: 1, models: ["one", "two"] })).toEqual([
      "id",
      "match",
      "response",
      "text",
      "error",
      "model",
    ]);
  });

  it("names the inputs of a row, and only those that are there", () => {
    expect(
      inputsOf(run, {
        id: "1",
        text: "Hello",
        response: "x",
        match: "pass",
        match_reason: "so",
        seconds: "2",
      }),
    ).toEqual([
      ["text", "Hello"],
      ["id", "1"],
    ]);
  });

  it.each([
    [metric("match", "pass"), "pass", "pass"],
    [metric("match", "pass"), "fail", "fail"],
    [metric("match", "pass"), "", "none"],
    [metric("length", null), "3", "between"],
  ])("says what a score means", (its, cell, verdict) => expect(verdictOf(its, cell)).toBe(verdict));

  it("shortens numbers alone", () => {
    expect(["0.123456", "1.0000", "12", "123456", "pass", ""].map(shortScore)).toEqual([
      "0.1235",
      "1",
      "12",
      "123456",
      "pass",
      "–",
    ]);
  });
});

describe("words", () => {
  it.each([
    [formatScore("discrete", 0.755), "76 %"],
    [formatScore("numeric", 1.23456), "1.23"],
    [formatDifference("discrete", -0.15), "−15 points"],
    [formatDifference("discrete", 0.125), "+12 points"],
    [formatDifference("numeric", 0.5), "+0.5"],
    [formatDifference("discrete", 0), "±0 points"],
    [moment("2026-11-21T16:29:16+00:00"), "21 Nov 2026, 16:29:16"],
    [moment("yesterday"), "yesterday"],
    [duration(40.2), "40.2 s"],
    [duration(75), "1 min 15 s"],
    [duration(7300), "2 h 1 min"],
    [money(0.00012), "$0.00012"],
    [money(1.5), "$1.50"],
  ])("writes %s", (written, expected) => expect(written).toBe(expected));
});

it.each([
  ["12", "first 12 rows"],
  ["3,44-46,,", "rows 3, 44-46"],
  ["1", "first row"],
  ["5,", "row 5"],
  ["example 2", "example 2"],
  ['label == "a"', 'rows with label == "a"'],
])("says which rows were chosen: %s", (chosen, words) => expect(chosenRows(chosen)).toBe(words));
