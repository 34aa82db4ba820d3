/** The pieces of two texts, with differences marked. */

import { count } from "./format";
import { revealed } from "./hidden";
import type { Piece } from "./textDiff";

export function Pieces({ pieces }: { pieces: readonly (Piece & { left?: number })[] }) {
  return (
    <pre class="pieces">
      {pieces.map(({ kind, text, left = 0 }, place) => {
        const { shown: visible } = revealed(text);
        return kind === "added" ? (
          <ins key={place}>{visible}</ins>
        ) : kind === "removed" ? (
          <del key={place}>{visible}</del>
        ) : (
          <span key={place} title={left > 0 ? `${count(left, "line")} left out` : undefined}>
            {visible}
          </span>
        );
      })}
    </pre>
  );
}
