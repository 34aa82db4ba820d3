/** A table that may be larger than its container: it can be focused if it can be scrolled. */

import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";

import { useResize } from "./useResize";

export function Scrolled({ label, children }: { label: string; children: ComponentChildren }) {
  const holder = useRef<HTMLDivElement>(null);
  const [isLarger, setLarger] = useState(false);
  useResize(holder, (element) => {
    setLarger(element.scrollWidth > element.clientWidth || element.scrollHeight > element.clientHeight);
  });
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
