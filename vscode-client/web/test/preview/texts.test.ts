import { describe, expect, it } from "vitest";

import { jsonMarks } from "../../src/preview/jsonMarks";
import { tokenMarks, tokenText } from "../../src/preview/tokenText";
import { revealed } from "../../src/shared/hidden";

describe("hidden characters", () => {
  it.each([
    ["a\u202eb", "a▯b", "right-to-left override (U+202E)"],
    ["a\0b", "a␀b", "control character (U+0000)"],
    ["a\u{e0041}b", "a▯▯b", "tag character A (U+E0041)"],
    ["\ufeffx", "▯x", "byte order mark (U+FEFF)"],
  ])("of %j are shown as %s", (text, shown, name) => {
    const found = revealed(text);
    expect(found.shown).toBe(shown);
    expect(found.shown).toHaveLength(text.length);
    expect(found.hidden.map((each) => each.name)).toEqual([name]);
  });

  it("are not those that writing needs", () => {
    const text = "a\n\tb é ‏ 👩‍👩‍👧 میخواهم";
    expect(revealed(text).shown).toBe(text);
  });
});

describe("the text of tokens", () => {
  it("shows line ends and tabs, and tokens of one character together", () => {
    const made = tokenText("a🎉\n\tb", [1, 2, 3, 4, 5], [0, 1, 1, 3, 5], 100);
    expect(made.shown).toBe("a🎉↵\n⇥\tb");
    expect(made.tokens.map(({ ids, text }) => [ids, text])).toEqual([
      [[1], "a"],
      [[2, 3], "🎉"],
      [[4], "\n\t"],
      [[5], "b"],
    ]);
    expect(tokenMarks(made).map(({ kind }) => kind)).toEqual(["token-0", "token-1", "token-2", "token-3"]);
  });

  it("ends after the tokens that are wanted", () => {
    expect(tokenText("abc", [1, 2, 3], [0, 1, 2], 2).shown).toBe("ab");
  });
});

it("tells keys of JSON from strings and other values", () => {
  const text = '{"a": "b: \\"c\\"", "d": -1.5e3, "e": null}';
  expect(jsonMarks(text).map(({ start, end, kind }) => [text.slice(start, end), kind])).toEqual([
    ['"a"', "key"],
    ['"b: \\"c\\""', "string"],
    ['"d"', "key"],
    ["-1.5e3", "constant"],
    ['"e"', "key"],
    ["null", "constant"],
  ]);
});
