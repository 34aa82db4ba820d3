/** Announces changes to screen readers, after a pause. */

import { signal } from "@preact/signals";

const announced = signal("");
let timer: ReturnType<typeof setTimeout> | undefined;
const SETTLED_MILLISECONDS = 700;

/** Announces a sentence after a pause, unless a later one replaces it. */
export function announce(sentence: string, after = SETTLED_MILLISECONDS): void {
  clearTimeout(timer);
  timer = setTimeout(() => {
    announced.value = sentence;
  }, after);
}

export function LiveRegion() {
  return (
    <div class="only-heard" role="status" aria-live="polite">
      {announced.value}
    </div>
  );
}
