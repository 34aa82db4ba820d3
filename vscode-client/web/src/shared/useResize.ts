import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";

/** Calls a function with the element when it is first shown and when its size has changed. */
export function useResize(
  holder: RefObject<HTMLElement | null>,
  resized: (element: HTMLElement) => void,
): void {
  useLayoutEffect(() => {
    const element = holder.current;
    if (element === null) {
      return undefined;
    }
    const observer = new ResizeObserver(() => resized(element));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
}
