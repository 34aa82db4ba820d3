/** A text with marks. It is a single text node, so that long texts stay fast. */

import { useLayoutEffect, useMemo, useRef } from "preact/hooks";

import { revealed } from "./hidden";
import type { Mark } from "./mark";

interface Properties {
  text: string;
  marks?: readonly Mark[];
  class?: string;
  /** The pointer rests on the character at an offset, or on none. */
  onPoint?: (offset: number | undefined, event: PointerEvent) => void;
  /** The character at an offset was clicked; a click that ends a selection does not count. */
  onPick?: (offset: number, event: MouseEvent) => void;
}

/** Shows the text as plain text, in its own direction, with hidden characters made visible. */
export function MarkedText({ text, marks, class: name, onPoint, onPick }: Properties) {
  const holder = useRef<HTMLSpanElement>(null);
  const { shown, hidden } = useMemo(() => revealed(text), [text]);
  useLayoutEffect(() => {
    const node = holder.current?.firstChild;
    if (node === null || node === undefined) {
      return undefined;
    }
    const all = [...(marks ?? []), ...hidden.map(({ start, end }) => ({ start, end, kind: "hidden" }))];
    return highlight(node, shown.length, all);
  }, [shown, hidden, marks]);
  return (
    <span
      ref={holder}
      class={name === undefined ? "text" : `text ${name}`}
      {...(onPoint === undefined
        ? {}
        : {
            onPointerMove: (event: PointerEvent) => {
              onPoint(offsetAt(holder.current, event.clientX, event.clientY), event);
            },
            onPointerLeave: (event: PointerEvent) => onPoint(undefined, event),
          })}
      {...(onPick === undefined
        ? {}
        : {
            onClick: (event: MouseEvent) => {
              const offset = offsetAt(holder.current, event.clientX, event.clientY);
              if (offset !== undefined && document.getSelection()?.isCollapsed !== false) {
                onPick(offset, event);
              }
            },
          })}
    >
      {shown}
    </span>
  );
}

/**
 * Marks ranges of a text node; returns a function that removes the marks. Does nothing in browsers without
 * the CSS Custom Highlight API.
 */
function highlight(node: Node, length: number, marks: readonly Mark[]): () => void {
  if (typeof Highlight === "undefined") {
    return () => undefined;
  }
  const added: [Highlight, AbstractRange][] = [];
  for (const { start, end, kind } of marks) {
    if (start < end && end <= length) {
      let highlights = CSS.highlights.get(kind);
      if (highlights === undefined) {
        highlights = new Highlight();
        CSS.highlights.set(kind, highlights);
      }
      const range = new StaticRange({
        startContainer: node,
        startOffset: start,
        endContainer: node,
        endOffset: end,
      });
      highlights.add(range);
      added.push([highlights, range]);
    }
  }
  return () => {
    for (const [highlights, range] of added) {
      highlights.delete(range);
    }
  };
}

/** Some browsers lack one of the two. */
interface Carets {
  caretPositionFromPoint?(x: number, y: number): { offsetNode: Node; offset: number } | null;
  caretRangeFromPoint?(x: number, y: number): Range | null;
}

/** Returns the offset of the character at a point, or undefined if there is none. */
function offsetAt(holder: HTMLElement | null, x: number, y: number): number | undefined {
  const node = holder?.firstChild;
  const carets: Carets = document;
  const caret = carets.caretPositionFromPoint?.(x, y);
  const range = caret == null ? carets.caretRangeFromPoint?.(x, y) : undefined;
  const at = caret?.offsetNode ?? range?.startContainer;
  const offset = caret?.offset ?? range?.startOffset;
  if (node === null || node === undefined || at !== node || offset === undefined) {
    return undefined;
  }
  // A caret is between two characters: the point is in one of them, or beside the line.
  return [offset, offset - 1].find((place) =>
    rectsOf(node, place, place + 1).some((rect) => contains(rect, x, y)),
  );
}

/** Returns the rectangle of a piece of the text on the screen. */
export function rectsOf(node: Node, start: number, end: number): DOMRect[] {
  const length = node.textContent?.length ?? 0;
  if (start < 0 || start >= length) {
    return [];
  }
  const range = document.createRange();
  range.setStart(node, start);
  range.setEnd(node, Math.min(end, length));
  return [...range.getClientRects()];
}

function contains(rect: DOMRect, x: number, y: number): boolean {
  return x >= rect.left - 1 && x <= rect.right + 1 && y >= rect.top - 3 && y <= rect.bottom + 3;
}
