/** Finds the spans of keys, strings and other values in JSON text written by this page. */

import type { Mark } from "../shared/mark";

const PIECE =
  /"(?:[^"\\]|\\.)*"(\s*:)?|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\b(?:true|false|null|None|True|False)\b/g;
const MAX_MARKS = 5000;

/** Returns at most 5,000 marks. */
export function jsonMarks(text: string): Mark[] {
  const marks: Mark[] = [];
  for (const found of text.matchAll(PIECE)) {
    const end = found.index + found[0].length;
    if (found[1] !== undefined) {
      marks.push({ start: found.index, end: end - found[1].length, kind: "key" });
    } else {
      marks.push({ start: found.index, end, kind: found[0].startsWith('"') ? "string" : "constant" });
    }
    if (marks.length === MAX_MARKS) {
      break;
    }
  }
  return marks;
}
