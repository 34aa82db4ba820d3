/** What a screen reader is told of changes, once they have settled. */

import { signal } from "@preact/signals";

const told = signal("");
let timer: ReturnType<typeof setTimeout> | undefined;
const SETTLED_MILLISECONDS = 700;

/** Says a sentence; of several in a row, the last. */
export function announce(sentence: string, after = SETTLED_MILLISECONDS): void {
  clearTimeout(timer);
  timer = setTimeout(() => {
    told.value = sentence;
  }, after);
}

export function LiveRegion() {
  return (
    <div class="only-heard" role="status" aria-live="polite">
      {told.value}
    </div>
  );
}
