import { describe, expect, it } from "vitest";

import type { Part, PreviewResult, Rendering, RenderingFailure } from "../src/protocol";
import { colourOf, EMPTY, partAt, withoutAnswer, withResult } from "../src/webview/previewState";

const RENDERING: Rendering = { parts: [], string: "text", messages: [], tokens: 3, tokens_kept: 3, text: "", seconds: 0 };
const FAILURE: RenderingFailure = { kind: "yaml", message: "broken", path: null, line: 2, rendered_line: 4, excerpt: null };

function answer(given: Partial<PreviewResult>): PreviewResult {
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

const part = (index: number, line: number | null): Part => ({
  index,
  name: `part ${index}`,
  role: "user",
  content: "",
  tokens: 0,
  truncation_priority: 0,
  kept: true,
  sections: null,
  line,
});

describe("the preview", () => {
  it("keeps the last rendering, outdated, while the text is broken", () => {
    const good = withResult(EMPTY, answer({ rendering: RENDERING }));
    const broken = withResult(good, answer({ failure: FAILURE }));
    expect(broken).toMatchObject({ rendering: RENDERING, outdated: true, failure: FAILURE });
  });

  it("is up to date again once the text renders", () => {
    const broken = withResult(withResult(EMPTY, answer({ rendering: RENDERING })), answer({ failure: FAILURE }));
    const mended = withResult(broken, answer({ rendering: { ...RENDERING, tokens: 4 } }));
    expect(mended.outdated).toBe(false);
    expect(mended.failure).toBeUndefined();
    expect(mended.rendering?.tokens).toBe(4);
  });

  it("never shows the rendering of one file under the error of another", () => {
    const good = withResult(EMPTY, answer({ rendering: RENDERING }));
    const other = withResult(good, answer({ uri: "file:///b.yml.j2", failure: FAILURE }));
    expect(other.rendering).toBeUndefined();
    expect(other.outdated).toBe(false);
  });

  it("forgets with the file what was chosen for it", () => {
    const chosen = { ...withResult(EMPTY, answer({ rendering: RENDERING })), choice: { limit: 10 } };
    expect(withResult(chosen, answer({ rendering: RENDERING })).choice).toEqual({ limit: 10 });
    expect(withResult(chosen, answer({ uri: "file:///b.yml.j2", rendering: RENDERING })).choice).toEqual({});
  });

  it("keeps the last rendering also where the server does not answer", () => {
    const good = withResult(EMPTY, answer({ rendering: RENDERING }));
    const silent = withoutAnswer(good, "file:///a.yml.j2", "the server has stopped");
    expect(silent).toMatchObject({ rendering: RENDERING, outdated: true });
    expect(silent.failure?.message).toBe("the server has stopped");
  });
});

describe("the part at the cursor", () => {
  const parts = [part(0, 2), part(1, null), part(2, 9)];

  it("is the last that begins at or before its line", () => {
    expect(partAt(parts, 8)?.index).toBe(0);
    expect(partAt(parts, 9)?.index).toBe(2);
  });

  it("is none above the first part, and none without a cursor", () => {
    expect(partAt(parts, 1)).toBeUndefined();
    expect(partAt(parts, undefined)).toBeUndefined();
  });
});

it.each([
  ["System", "system"],
  ["human", "user"],
  ["model", "assistant"],
  ["function", "tool"],
  ["narrator", "other"],
])("gives the role %s the colour of %s", (role, colour) => {
  expect(colourOf(role)).toBe(colour);
});
