/** A table that may be larger than its container: it can be focused if it can be scrolled. */

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

export function Scrolled({ label, children }: { label: string; children: ComponentChildren }) {
  const holder = useRef<HTMLDivElement>(null);
  const [isLarger, setLarger] = useState(false);
  useLayoutEffect(() => {
    const element = holder.current;
    if (element === null) {
      return undefined;
    }
    const size = new ResizeObserver(() => {
      setLarger(element.scrollWidth > element.clientWidth || element.scrollHeight > element.clientHeight);
    });
    size.observe(element);
    return () => {
      size.disconnect();
    };
  }, []);
  return (
    <div
      class="numbers"
      ref={holder}
      {...(isLarger ? { tabIndex: 0, role: "group", "aria-label": label } : {})}
    >
      {children}
    </div>
  );
}
