/** Tabs: one of them is in the tab order, and arrow keys move between them. */

import { useLayoutEffect, useRef } from "preact/hooks";

interface Properties<Name extends string> {
  /** The label of all tabs together. */
  label: string;
  names: readonly Name[];
  current: Name;
  onChoose: (name: Name) => void;
  /** The id of the element that a tab controls. */
  controls: string;
}

export function tabId(name: string): string {
  return `tab-${name.toLowerCase()}`;
}

export function Tabs<Name extends string>({ label, names, current, onChoose, controls }: Properties<Name>) {
  const list = useRef<HTMLDivElement>(null);
  const move = (event: KeyboardEvent): void => {
    const place = names.indexOf(current);
    const target = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: names.length - 1 }[event.key];
    const next = target === undefined ? undefined : names[(target + names.length) % names.length];
    if (next !== undefined) {
      event.preventDefault();
      onChoose(next);
      document.getElementById(tabId(next))?.focus();
    }
  };
  useLayoutEffect(() => {
    const tab = document.getElementById(tabId(current));
    const holder = list.current;
    if (tab !== null && holder !== null) {
      const left = tab.offsetLeft - holder.offsetLeft;
      if (left < holder.scrollLeft || left + tab.offsetWidth > holder.scrollLeft + holder.clientWidth) {
        holder.scrollLeft = left - 24;
      }
    }
  }, [current]);
  return (
    <div role="tablist" class="tabs" aria-label={label} ref={list} onKeyDown={move}>
      {names.map((name, place) => (
        <button
          type="button"
          key={name}
          id={tabId(name)}
          role="tab"
          aria-selected={name === current}
          aria-controls={controls}
          tabIndex={name === current ? 0 : -1}
          title={`${name} (${place + 1})`}
          onClick={() => onChoose(name)}
        >
          {name}
        </button>
      ))}
    </div>
  );
}
