/**
 * A piece of a part's content that is linked to the template: by click, by hover and by the editor's cursor.
 */

import { useMemo } from "preact/hooks";

import type { Mark } from "../shared/mark";
import { MarkedText } from "../shared/markedText";
import type { Part } from "../wire/preview";
import { hideOrigin, showOrigin } from "./origin";
import { segmentAt, segmentsOf } from "./sourceMap";
import { places, reveal, revealSegment, walked } from "./store";

interface Properties {
  part: Part;
  text: string;
}

export function MappedText({ part, text }: Properties) {
  const segments = segmentsOf(part);
  const here = places.value.filter((place) => place.part === part.index);
  const at = walked.value?.part === part.index ? walked.value : undefined;
  const marks = useMemo<Mark[]>(
    () =>
      [
        ...here.map((place) => ({ ...place, kind: "cursor" })),
        ...(at === undefined ? [] : [{ ...at, kind: "walked" }]),
      ].map(({ start, end, kind }) => ({ start, end: Math.min(end, text.length), kind })),
    [JSON.stringify(here), at, text.length],
  );
  return (
    <MarkedText
      text={text}
      marks={marks}
      onPoint={(offset, event) => {
        const segment = offset === undefined ? undefined : segmentAt(segments, offset);
        if (segment === undefined) {
          hideOrigin();
        } else {
          showOrigin(segment, event.clientX, event.clientY);
        }
      }}
      onPick={(offset) => {
        const segment = segmentAt(segments, offset);
        if (segment !== undefined) {
          revealSegment(segment);
        } else if (part.line !== null) {
          reveal(part.line);
        }
      }}
    />
  );
}
