/** Renderings and parts for the tests of the preview. */

import type { Part, PreviewResult, Rendering, Segment } from "../../src/protocol";

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
