/** Characters that only the model sees, each shown as a sign of the same length. */

const NAMES: ReadonlyMap<number, string> = new Map([
  [0x00ad, "soft hyphen"],
  [0x061c, "Arabic letter mark"],
  [0x180e, "Mongolian vowel separator"],
  [0x200b, "zero-width space"],
  [0x202a, "left-to-right embedding"],
  [0x202b, "right-to-left embedding"],
  [0x202c, "end of embedding"],
  [0x202d, "left-to-right override"],
  [0x202e, "right-to-left override"],
  [0x2028, "line separator"],
  [0x2029, "paragraph separator"],
  [0x2060, "word joiner"],
  [0x2066, "left-to-right isolate"],
  [0x2067, "right-to-left isolate"],
  [0x2068, "first strong isolate"],
  [0x2069, "end of isolate"],
  [0xfeff, "byte order mark"],
]);
/** Includes the tag characters, two code units each, which can smuggle text. */
const HIDDEN =
  /(?![\t\n])\p{Cc}|[\xad\u061c\u180e\u200b\u2028-\u202e\u2060\u2066-\u2069\ufeff\u{e0000}-\u{e007f}]/gu;
const SIGN = "▯";

export interface Hidden {
  start: number;
  end: number;
  /** A description of the character. */
  name: string;
}

/** Returns the text with hidden characters replaced by signs, and a list of them. */
export function revealed(text: string): { shown: string; hidden: Hidden[] } {
  const hidden: Hidden[] = [];
  const shown = text.replace(HIDDEN, (found: string, start: number) => {
    const code = found.codePointAt(0) ?? 0;
    hidden.push({ start, end: start + found.length, name: nameOf(code) });
    return signOf(code).repeat(found.length);
  });
  return { shown, hidden };
}

function signOf(code: number): string {
  // Unicode has a picture for each of the C0 control characters.
  return code < 0x20 ? String.fromCharCode(0x2400 + code) : code === 0x7f ? "␡" : SIGN;
}

function nameOf(code: number): string {
  const number = `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
  const known =
    NAMES.get(code) ??
    (code >= 0xe0000 ? `tag character ${String.fromCharCode(code - 0xe0000)}` : "control character");
  return `${known} (${number})`;
}
