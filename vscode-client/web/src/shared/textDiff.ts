/** Differences of two texts, by words or by lines. */

import { diffLines, diffWordsWithSpace } from "diff";

export interface Piece {
  kind: "same" | "added" | "removed";
  text: string;
}

const LONG = 20_000;
const MILLISECONDS = 400;

/**
 * Returns the pieces of two texts by words, or by lines if the texts are long; both whole if that would take
 * too long.
 */
export function compareTexts(before: string, after: string): Piece[] {
  const options = { timeout: MILLISECONDS };
  const found =
    before.length + after.length > LONG
      ? diffLines(before, after, options)
      : diffWordsWithSpace(before, after, options);
  return (
    found?.map(
      ({ value, added, removed }) =>
        ({ kind: added ? "added" : removed ? "removed" : "same", text: value }) as const,
    ) ?? [
      { kind: "removed", text: before },
      { kind: "added", text: after },
    ]
  );
}

/** Shortens equal text between two changes to the surrounding lines. */
export function aroundChanges(pieces: readonly Piece[], lines = 3): (Piece & { left: number })[] {
  return pieces.map((piece, place) => {
    const all = piece.text.split("\n");
    if (piece.kind !== "same" || all.length <= 2 * lines + 2) {
      return { ...piece, left: 0 };
    }
    const head = place === 0 ? [] : all.slice(0, lines);
    const tail = place === pieces.length - 1 ? [] : all.slice(-lines);
    return {
      kind: piece.kind,
      text: `${head.join("\n")}\n⋯\n${tail.join("\n")}`,
      left: all.length - head.length - tail.length,
    };
  });
}
