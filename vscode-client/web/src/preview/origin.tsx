/** Shows the origin of rendered text beside the pointer. */

import { signal } from "@preact/signals";

import { baseName } from "../shared/format";
import type { Segment } from "./sourceMap";
import { segmentOrigin } from "./sourceMap";
import { shown } from "./store";

const pointed = signal<{ segment: Segment; x: number; y: number } | undefined>(undefined);
let timer: ReturnType<typeof setTimeout> | undefined;
const REST_MILLISECONDS = 250;
const WIDTH = 320;

/** Shows the origin when the pointer rests; immediately if another origin is visible. */
export function showOrigin(segment: Segment, x: number, y: number): void {
  clearTimeout(timer);
  if (pointed.value?.segment === segment) {
    return;
  }
  timer = setTimeout(
    () => {
      pointed.value = { segment, x, y };
    },
    pointed.value === undefined ? REST_MILLISECONDS : 60,
  );
}

export function hideOrigin(): void {
  clearTimeout(timer);
  timer = setTimeout(() => {
    pointed.value = undefined;
  }, 80);
}

export function describeOrigin(segment: Segment): string[] {
  return segmentOrigin(segment, shown.value.result?.files ?? [], baseName);
}

export function OriginTip() {
  const at = pointed.value;
  if (at === undefined) {
    return null;
  }
  const [place, ...rest] = describeOrigin(at.segment);
  const left = Math.max(8, Math.min(at.x + 8, window.innerWidth - WIDTH - 8));
  const isLow = at.y > window.innerHeight - 120;
  return (
    <div
      class="tip"
      role="tooltip"
      style={
        isLow
          ? { left: `${left}px`, bottom: `${window.innerHeight - at.y + 14}px` }
          : { left: `${left}px`, top: `${at.y + 18}px` }
      }
    >
      <bdi class="tip-place">{place}</bdi>
      {rest.map((text) => (
        <bdi key={text}>{text}</bdi>
      ))}
    </div>
  );
}
