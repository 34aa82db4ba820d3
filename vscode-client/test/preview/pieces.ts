/** Renderings and parts for the tests of the preview. */

import type { PackedSegments, Part, PreviewResult, Rendering, Segment } from "../../src/protocol";

export const RENDERING: Rendering = { parts: [], string: "text", messages: [], tokens: 3, tokens_kept: 3, text: "", seconds: 0 };

export function part(index: number, given: Partial<Part> = {}): Part {
  return {
    index,
    name: `part ${index}`,
    role: "user",
    content: "",
    tokens: 0,
    truncation_priority: 0,
    kept: true,
    sections: null,
    line: null,
    ...given,
  };
}

export function segment(start: number, end: number, from: [number, number], to: [number, number], given: Partial<Segment> = {}): Segment {
  return {
    start,
    end,
    file: 0,
    range: { start: { line: from[0], character: from[1] }, end: { line: to[0], character: to[1] } },
    verbatim: false,
    turns: [],
    dataPath: null,
    ...given,
  };
}

/** The segments as the server sends them. */
export function packed(segments: readonly Segment[]): PackedSegments {
  const turns = segments.map((each) => each.turns).filter((each) => each.length > 0);
  const dataPaths = segments.map(({ dataPath }) => dataPath).filter((each) => each !== null);
  const rows = segments.map(({ start, end, file, range, verbatim, turns: its, dataPath }) => [
    start,
    end,
    file,
    ...[range.start.line, range.start.character, range.end.line, range.end.character],
    Number(verbatim),
    turns.indexOf(its),
    dataPath === null ? -1 : dataPaths.indexOf(dataPath),
  ]);
  return { segments: rows.flat(), turns, dataPaths };
}

export function answer(given: Partial<PreviewResult>): PreviewResult {
  return {
    uri: "file:///a.yml.j2",
    path: "/a.yml.j2",
    version: 1,
    kind: "parts",
    encoding: "o200k_base",
    sample: null,
    samples: [],
    data: {},
    tokenLimit: null,
    truncationStep: null,
    rendering: null,
    failure: null,
    ...given,
  };
}
