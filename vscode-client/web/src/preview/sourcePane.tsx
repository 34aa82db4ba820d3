/** The template beside its rendering, for the page in a browser; an editor shows the template itself. */

import { useLayoutEffect, useMemo, useRef } from "preact/hooks";

import { CloseButton } from "../shared/closeButton";
import { MarkedText } from "../shared/markedText";
import { useAnswer } from "../shared/useAnswer";
import type { SourceAnswer } from "../wire/preview";
import { ask, cursor, type RevealedPlace, shown, sourcePlace } from "./store";

export function SourcePane() {
  const place = sourcePlace.value;
  return place === undefined ? null : <Pane place={place} />;
}

function Pane({ place }: { place: RevealedPlace }) {
  const scroller = useRef<HTMLDivElement>(null);
  const { result } = shown.value;
  const { answer: source, failure } = useAnswer(
    () => ask<SourceAnswer>("source", { of: place.uri ?? place.path }),
    [place.uri, place.path, result],
  );
  const starts = useMemo(() => lineStarts(source?.text ?? ""), [source?.text]);
  const line = Math.min(place.line, starts.length - 1);
  const start = starts[line] ?? 0;
  const end = starts[line + 1] ?? source?.text.length ?? 0;
  useLayoutEffect(() => {
    const holder = scroller.current;
    const height =
      holder === null ? 0 : (holder.firstElementChild?.clientHeight ?? 0) / Math.max(1, starts.length);
    if (
      holder !== null &&
      (line * height < holder.scrollTop || (line + 1) * height > holder.scrollTop + holder.clientHeight)
    ) {
      holder.scrollTop = line * height - holder.clientHeight / 3;
    }
  }, [place, source?.uri]);
  return (
    <section class="source" aria-label="Template">
      <div class="source-head">
        <bdi>{source?.name ?? ""}</bdi>
        <span class="spacer" />
        <CloseButton
          label="Close the template"
          title="Close (Escape)"
          onClick={() => {
            sourcePlace.value = undefined;
          }}
        />
      </div>
      {failure === "" ? null : <p class="note">{failure}</p>}
      <div class="source-text" ref={scroller} tabIndex={0} aria-label="Text of the template">
        {source === undefined ? null : (
          <div class="source-lines">
            <pre class="line-numbers" aria-hidden="true">
              {starts.map((_, number) => number + 1).join("\n")}
            </pre>
            <pre>
              <MarkedText
                text={source.text}
                marks={[{ start, end: Math.max(start, end - 1), kind: "cursor" }]}
                onPick={(offset) => {
                  const at = lineAt(starts, offset);
                  cursor.value = { uri: source.uri, line: at, character: offset - (starts[at] ?? 0) };
                }}
              />
            </pre>
          </div>
        )}
      </div>
    </section>
  );
}

function lineStarts(text: string): number[] {
  const starts = [0];
  for (const found of text.matchAll(/\r\n|\n|\r/g)) {
    starts.push(found.index + found[0].length);
  }
  return starts;
}

function lineAt(starts: readonly number[], offset: number): number {
  let line = 0;
  while (line + 1 < starts.length && (starts[line + 1] ?? 0) <= offset) {
    line += 1;
  }
  return line;
}
