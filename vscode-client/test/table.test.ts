import { describe, expect, it } from "vitest";

import type { Metric, ResultsResult } from "../src/protocol";
import { arranged, change, isReason, numberOf, shownColumns, verdictOf } from "../src/webview/results/table";

const metric = (name: string, value: number | null, text = ""): Metric => ({ name, kind: "discrete", value, text });

function results(rows: Record<string, unknown>[]): ResultsResult {
  return {
    run: "/run.csv",
    name: "run",
    columns: Object.keys(rows[0] ?? {}),
    rows,
    metrics: [metric("match", 0.5)],
    previous: null,
    comparison: null,
    stale: false,
  };
}

describe("columns", () => {
  it("are the scores first, then the content; reasons, costs and empty columns stand in the details", () => {
    const row = { text: "a", response: "b", match: "1", match_reason: "same", error: "", cost: "0.1", model: "echo" };
    expect(shownColumns(results([row]))).toEqual(["match", "text", "response"]);
  });

  it("name the model where several were asked", () => {
    const rows = [
      { text: "a", model: "echo" },
      { text: "a", model: "local:smollm2" },
    ];
    expect(shownColumns(results(rows))).toEqual(["text", "model"]);
  });

  it("take only the metric's own reason for one", () => {
    expect(isReason("match_reason", [metric("match", 1)])).toBe(true);
    expect(isReason("reason", [metric("match", 1)])).toBe(false);
    expect(isReason("matching_reason", [metric("match", 1)])).toBe(false);
  });
});

describe("rows", () => {
  const rows = [{ text: "Beta two", n: "10" }, { text: "alpha ten", n: "9" }, { text: "gamma", n: "" }];
  const texts = (given: Record<string, unknown>[]): unknown[] => given.map((row) => row["text"]);

  it("are kept when they hold every word of the filter, in any case and column", () => {
    expect(texts(arranged(rows, "TEN 9", undefined))).toEqual(["alpha ten"]);
  });

  it("are sorted as numbers where the cells are numbers, empty cells last both ways", () => {
    expect(texts(arranged(rows, "", { column: "n", ascending: true }))).toEqual(["alpha ten", "Beta two", "gamma"]);
    expect(texts(arranged(rows, "", { column: "n", ascending: false }))).toEqual(["Beta two", "alpha ten", "gamma"]);
  });

  it("keep the order of the dataset without a sorting, and the given list as it was", () => {
    const before = [...rows];
    arranged(rows, "", { column: "text", ascending: true });
    expect(rows).toEqual(before);
    expect(arranged(rows, "", undefined)).toEqual(before);
  });
});

describe("cells", () => {
  it.each([
    ["1.5", 1.5],
    [2, 2],
    ["", undefined],
    ["1 apple", undefined],
    ["Infinity", undefined],
  ])("hold in %j the number %j", (value, number) => {
    expect(numberOf(value)).toBe(number);
  });

  it.each([
    ["correct", "pass"],
    ["False", "fail"],
    ["1.0", "pass"],
    [0, "fail"],
    ["0.25", "between"],
    ["17", "none"],
    ["", "none"],
  ])("score %j as %s", (value, verdict) => {
    expect(verdictOf(value)).toBe(verdict);
  });
});

describe("the change since the run before", () => {
  it("is said in points for fractions", () => {
    expect(change(metric("m", 0.5, "50 %"), [metric("m", 0.45, "45 %")])).toEqual({
      text: "▲ 5 points from 45 %",
      better: true,
    });
  });

  it("is no better and no worse where nothing changed", () => {
    expect(change(metric("m", 0.5), [metric("m", 0.5, "50 %")])?.better).toBeNull();
  });

  it("is not said for a metric that is new or has no value", () => {
    expect(change(metric("m", 0.5), [])).toBeUndefined();
    expect(change(metric("m", null), [metric("m", 0.5)])).toBeUndefined();
  });
});
