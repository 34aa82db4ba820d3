import { describe, expect, it } from "vitest";

import {
  colorOf,
  keysOf,
  NOTHING,
  shortLength,
  sliderEnd,
  withoutAnswer,
  withResult,
} from "../../src/preview/state";
import type { Part, RenderingFailure } from "../../src/wire/preview";
import { answer, RENDERING } from "./pieces";

const FAILURE: RenderingFailure = {
  kind: "yaml",
  message: "broken",
  path: null,
  line: 2,
  renderedLine: 4,
  excerpt: null,
};

describe("the preview", () => {
  it("keeps the last rendering, outdated, while the text is broken", () => {
    const good = withResult(NOTHING, answer({ rendering: RENDERING }));
    const broken = withResult(good, answer({ failure: FAILURE }));
    expect(broken).toMatchObject({ rendering: RENDERING, outdated: true, failure: FAILURE });
  });

  it("is up to date again once the text renders", () => {
    const broken = withResult(
      withResult(NOTHING, answer({ rendering: RENDERING })),
      answer({ failure: FAILURE }),
    );
    const mended = withResult(broken, answer({ rendering: { ...RENDERING, tokens: 4 } }));
    expect(mended.outdated).toBe(false);
    expect(mended.failure).toBeUndefined();
    expect(mended.rendering?.tokens).toBe(4);
  });

  it("never shows the rendering of one file under the error of another", () => {
    const good = withResult(NOTHING, answer({ rendering: RENDERING }));
    const other = withResult(good, answer({ uri: "file:///b.yml.j2", failure: FAILURE }));
    expect(other.rendering).toBeUndefined();
    expect(other.outdated).toBe(false);
  });

  it("never shows the rendering with one sample under the error of another", () => {
    const sample = (name: string) => ({ sample: { name, source: "samples.yml" } });
    const good = withResult(NOTHING, answer({ ...sample("short"), rendering: RENDERING }));
    const other = withResult(good, answer({ ...sample("long"), failure: FAILURE }));
    expect(other).toMatchObject({ rendering: undefined, outdated: false, failure: FAILURE });
    const same = withResult(good, answer({ ...sample("short"), failure: FAILURE }));
    expect(same).toMatchObject({ rendering: RENDERING, outdated: true });
  });

  it("keeps the last rendering also where the server does not answer", () => {
    const good = withResult(NOTHING, answer({ rendering: RENDERING }));
    const silent = withoutAnswer(good, "file:///a.yml.j2", "the server has stopped");
    expect(silent).toMatchObject({ rendering: RENDERING, outdated: true });
    expect(silent.failure?.message).toBe("the server has stopped");
  });
});

it.each([
  ["System", "system"],
  ["human", "user"],
  ["model", "assistant"],
  ["function", "tool"],
  ["narrator", "other"],
])("gives the role %s the color of %s", (role, color) => expect(colorOf(role)).toBe(color));

it.each([
  ["a short text whole", "one\ntwo\n", 8],
  ["a long text up to the end of a line", "line\n".repeat(100), 24 * 5 - 1],
  ["a line that is too long by its characters", "x".repeat(10_000), 2400],
  ["nothing of nothing", "", 0],
])("shows %s at first", (_what, text, length) => expect(shortLength(text)).toBe(length));

it.each([
  [0, 25],
  [230, 300],
  [1000, 1500],
  [95_000, 150_000],
])("lets the slider for %d tokens reach to %d", (tokens, end) => expect(sliderEnd(tokens)).toBe(end));

it("knows a part again when another one comes before it", () => {
  const [part] = RENDERING.parts;
  const named = (...names: string[]) => names.map((name, index) => ({ ...part, name, index }) as Part);
  const before = keysOf(named("a", "turn", "turn"));
  const after = keysOf(named("new", "a", "turn", "turn", "turn"));
  expect(new Set(after).size).toBe(5);
  expect(after.slice(1, 4)).toEqual(before);
});
