import { describe, expect, it } from "vitest";

import { compareParts } from "../../src/preview/compare";
import { aroundChanges, compareTexts } from "../../src/shared/textDiff";
import { part } from "./pieces";

describe("two renderings", () => {
  it("have their parts beside each other by role and name", () => {
    const before = [
      part(0, { name: "task", content: "a", tokens: 1 }),
      part(1, { name: "old", tokens: 5 }),
      part(2, { name: "end" }),
    ];
    const after = [
      part(0, { name: "task", content: "b", tokens: 4 }),
      part(1, { name: "end" }),
      part(2, { name: "new", tokens: 2 }),
    ];
    expect(compareParts(before, after).map(({ kind, tokens }) => [kind, tokens])).toEqual([
      ["changed", 3],
      ["removed", -5],
      ["same", 0],
      ["added", 2],
    ]);
  });

  it("of which one is empty differ in every part", () => {
    expect(compareParts([], [part(0)]).map(({ kind }) => kind)).toEqual(["added"]);
    expect(compareParts([part(0)], []).map(({ kind }) => kind)).toEqual(["removed"]);
  });
});

it("finds the words that differ", () => {
  expect(compareTexts("Be brief.", "Be very brief.")).toEqual([
    { kind: "same", text: "Be " },
    { kind: "added", text: "very " },
    { kind: "same", text: "brief." },
  ]);
});

it("shows both texts where comparing them takes too long", () => {
  const text = (seed: number): string =>
    Array.from({ length: 60_000 }, (_, line) => `${(line * seed) % 7919} ${(line * seed) % 104_729}\n`).join(
      "",
    );
  const pieces = compareTexts(text(3), text(5));
  expect(
    pieces
      .filter(({ kind }) => kind !== "added")
      .map((piece) => piece.text)
      .join(""),
  ).toBe(text(3));
});

it("leaves out what is far from a change", () => {
  const same = Array.from({ length: 50 }, (_, line) => `line ${line}`).join("\n");
  const [first] = aroundChanges([
    { kind: "same", text: same },
    { kind: "added", text: "x" },
  ]);
  expect(first?.left).toBe(47);
  expect(first?.text.endsWith("line 47\nline 48\nline 49")).toBe(true);
});
