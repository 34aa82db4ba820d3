import { describe, expect, it } from "vitest";

import { partAt, placesAt, segmentAt, segmentOrigin, segmentsOf } from "../../src/preview/sourceMap";
import { packed, part, segment } from "./pieces";

const FILES = ["file:///a.yml.j2", "file:///b.yml.j2"];
const FROM_LOOP = segment(6, 9, [2, 10], [2, 22], {
  dataPath: "history[2].content",
  iterations: ["iteration 3 of `for message in history`"],
});
const SEGMENTS = [
  segment(0, 6, [2, 4], [2, 10], { verbatim: true }),
  FROM_LOOP,
  segment(10, 30, [4, 0], [6, 5], { verbatim: true, file: 1 }),
];
const FIRST = part(0, {
  content: "Hello Bob\nfirst\nsecond\nthird\nx",
  line: 1,
  sourceMap: packed(SEGMENTS),
});
const PARTS = [FIRST, part(1, { line: 9 })];

it("reads the segments that the server packs", () => {
  expect(segmentsOf(FIRST)).toEqual(SEGMENTS);
  expect(segmentsOf(part(2))).toEqual([]);
});

describe("the segment at an offset", () => {
  it.each([
    [0, 0],
    [5, 0],
    [6, 1],
    [9, undefined],
    [10, 2],
    [30, undefined],
  ])("of %d is number %s", (offset, number) => {
    expect(segmentAt(SEGMENTS, offset)).toBe(number === undefined ? undefined : SEGMENTS[number]);
  });
});

describe("what the template at the cursor became", () => {
  it("is the place that its tag printed", () => {
    expect(placesAt(PARTS, FILES, { uri: "file:///a.yml.j2", line: 2, character: 15 })).toEqual([
      { part: 0, start: 6, end: 9 },
    ]);
  });

  it("is in text of several lines the line that the cursor is in", () => {
    const found = placesAt(PARTS, FILES, { uri: "file:///b.yml.j2", line: 5, character: 2 });
    expect(found).toEqual([{ part: 0, start: 16, end: 22 }]);
  });

  it("is all that its line made where nothing is at the cursor", () => {
    expect(placesAt(PARTS, FILES, { uri: "file:///a.yml.j2", line: 2, character: 1 })).toEqual([
      { part: 0, start: 0, end: 6 },
      { part: 0, start: 6, end: 9 },
    ]);
  });

  it("is what stands at it, and not what ends there", () => {
    expect(placesAt(PARTS, FILES, { uri: "file:///a.yml.j2", line: 2, character: 10 })).toEqual([
      { part: 0, start: 6, end: 9 },
    ]);
    expect(placesAt(PARTS, FILES, { uri: "file:///b.yml.j2", line: 6, character: 5 })).toHaveLength(1);
  });

  it("is nothing in another file or between the tags", () => {
    expect(placesAt(PARTS, FILES, { uri: "file:///c.yml.j2", line: 2, character: 15 })).toEqual([]);
    expect(placesAt(PARTS, FILES, { uri: "file:///a.yml.j2", line: 3, character: 0 })).toEqual([]);
  });
});

it("finds the part at a line: the last that begins at or before it", () => {
  expect(partAt(PARTS, 8)?.index).toBe(0);
  expect(partAt(PARTS, 9)?.index).toBe(1);
  expect(partAt(PARTS, 0)).toBeUndefined();
});

it("says where a text comes from: place, data, loop iterations", () => {
  const words = segmentOrigin(FROM_LOOP, FILES, (uri) => uri.slice(uri.lastIndexOf("/") + 1));
  expect(words).toEqual(["a.yml.j2:3", "history[2].content", "iteration 3 of `for message in history`"]);
});
