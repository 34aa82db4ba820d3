/** A text with visible tokens. */

import type { Mark } from "../shared/mark";

export interface TokenText {
  /** The displayed text: line ends and tabs are shown as signs. */
  shown: string;
  /** Each token, or group of tokens that share a character, as a range of `shown`. */
  tokens: { start: number; end: number; ids: number[]; text: string }[];
}

/** Returns the text of at most `most` tokens from the start. */
export function tokenText(
  text: string,
  ids: readonly number[],
  starts: readonly number[],
  most: number,
): TokenText {
  const tokens: TokenText["tokens"] = [];
  let shown = "";
  let place = 0;
  while (place < ids.length && tokens.length < most) {
    let next = place + 1;
    // Tokens of one character are grouped, because they cannot be shown separately.
    while (next < ids.length && starts[next] === starts[place]) {
      next += 1;
    }
    const own = text.slice(starts[place], starts[next] ?? text.length);
    const visible = own.replaceAll("\n", "↵\n").replaceAll("\t", "⇥\t");
    tokens.push({
      start: shown.length,
      end: shown.length + visible.length,
      ids: ids.slice(place, next),
      text: own,
    });
    shown += visible;
    place = next;
  }
  return { shown, tokens };
}

const TINTS = 4;

/** Neighbors have different tints. */
export function tokenMarks({ tokens, shown }: TokenText): Mark[] {
  return tokens.map(({ start, end }, place) => ({
    start,
    // The line end itself is not tinted, only its sign.
    end: shown[end - 1] === "\n" && end - 1 > start ? end - 1 : end,
    kind: `token-${place % TINTS}`,
  }));
}
