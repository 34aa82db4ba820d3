import { describe, expect, it } from "vitest";

import { indentPasted } from "../src/pasting";

const ABOVE = ["- name: task", "  role: user", "  content: |", "    Hello", "      - deeper", "{% if a %}"];
const INDENTATION = "    ";

function pasted(text: string, before = INDENTATION, after = "", above = ABOVE): string | undefined {
  return indentPasted(above, before, after, text);
}

describe("a text with several lines that is pasted into a block scalar", () => {
  it("gets the indentation of the line", () => {
    expect(pasted("First\nSecond\n  - nested")).toBe("First\n    Second\n      - nested");
    expect(pasted("First\nSecond", "    A word ")).toBe("First\n    Second");
    expect(pasted("First\r\nSecond")).toBe("First\n    Second");
  });

  it("gets it directly below the header of the scalar", () => {
    expect(pasted("First\nSecond", INDENTATION, "", ABOVE.slice(0, 3))).toBe("First\n    Second");
    expect(pasted("First\nSecond", "  ", "", ["- >-"])).toBe("First\n  Second");
  });

  it("loses the indentation that all its lines have", () => {
    expect(pasted("        First\n        Second\n")).toBe("First\n    Second\n");
  });

  it("has no white space on empty lines, and some in front of the text behind it", () => {
    expect(pasted("First\n\nSecond\n")).toBe("First\n\n    Second\n");
    expect(pasted("First\nSecond\n", INDENTATION, "Third")).toBe("First\n    Second\n    ");
  });
});

describe("a pasted text stays as it is", () => {
  it("with one line", () => {
    expect(pasted("First")).toBeUndefined();
    expect(pasted("First\n")).toBeUndefined();
  });

  it("copied from within a line of such a scalar", () => expect(pasted("First\n    Second")).toBeUndefined());

  it("at the left edge, where parts begin", () => {
    expect(pasted("- name: next\n  role: user", "")).toBeUndefined();
    expect(pasted("    First\n    Second\n", "", "    Third")).toBeUndefined();
  });

  it("outside of block scalars", () => {
    expect(pasted("role: user\nname: a", "  ", "", ["- name: task"])).toBeUndefined();
    expect(pasted("- name: a\n  role: user", "", "", ABOVE)).toBeUndefined();
  });
});
