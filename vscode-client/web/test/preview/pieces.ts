/** Renderings and parts for the tests of the preview. */

import type { Segment } from "../../src/preview/sourceMap";
import type { PackedSegments, Part, PreviewResult, Rendering } from "../../src/wire/preview";

export const RENDERING: Rendering = {
  parts: [],
  string: "text",
  messages: [],
  tokens: 3,
  tokensKept: 3,
  text: "",
  seconds: 0,
  problems: [],
  sourceMap: null,
};

export function part(index: number, given: Partial<Part> = {}): Part {
  return {
    index,
    name: `part ${index}`,
    role: "user",
    content: "",
    tokens: 0,
    truncationPriority: 0,
    kept: true,
    sections: null,
    line: null,
    sourceMap: null,
    ...given,
  };
}

export function segment(
  start: number,
  end: number,
  from: [number, number],
  to: [number, number],
  given: Partial<Segment> = {},
): Segment {
  return {
    start,
    end,
    file: 0,
    range: { start: { line: from[0], character: from[1] }, end: { line: to[0], character: to[1] } },
    verbatim: false,
    iterations: [],
    dataPath: null,
    ...given,
  };
}

/** The segments as the server sends them. */
export function packed(segments: readonly Segment[]): PackedSegments {
  const iterations = segments.map((each) => each.iterations).filter((each) => each.length > 0);
  const dataPaths = segments.map(({ dataPath }) => dataPath).filter((each) => each !== null);
  const rows = segments.map(({ start, end, file, range, verbatim, iterations: its, dataPath }) => [
    start,
    end,
    file,
    ...[range.start.line, range.start.character, range.end.line, range.end.character],
    Number(verbatim),
    iterations.indexOf(its),
    dataPath === null ? -1 : dataPaths.indexOf(dataPath),
  ]);
  return { segments: rows.flat(), iterations, dataPaths };
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
    dataset: null,
    data: {},
    standIns: [],
    tokenLimit: null,
    truncationStep: null,
    request: { models: ["local:smollm2"], temperature: null, maxTokens: null, seed: null, schema: null },
    files: [],
    viewer: null,
    rendering: null,
    failure: null,
    ...given,
  };
}
