/** Whether an element is visible, or almost, and its height when it was last visible. */

import { type RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

export interface Intersection {
  holder: RefObject<HTMLDivElement | null>;
  isInSight: boolean;
  /** In pixels; undefined before the element was first visible. */
  height: number | undefined;
}

/** Elements this close to the visible area count as visible. */
const MARGIN = "900px 0px";

export function useIntersection(atFirst: boolean): Intersection {
  const holder = useRef<HTMLDivElement>(null);
  const [state, setState] = useState<{ isInSight: boolean; height: number | undefined }>({
    isInSight: atFirst,
    height: undefined,
  });
  useLayoutEffect(() => {
    const element = holder.current;
    if (element === null) {
      return undefined;
    }
    const observer = new IntersectionObserver(
      (entries) => {
        const last = entries.at(-1);
        if (last !== undefined) {
          const isInSight = last.isIntersecting;
          setState((before) => ({
            isInSight,
            height: before.isInSight && !isInSight ? last.boundingClientRect.height : before.height,
          }));
        }
      },
      { root: document.getElementById("view"), rootMargin: MARGIN },
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return { holder, ...state };
}
