/** A button that copies, and confirms it. */

import { useEffect, useState } from "preact/hooks";

import { announce } from "./announce";
import { Icon } from "./icons";

interface Properties {
  /** A description of what is copied: `part ticket`. */
  what: string;
  /** Shown beside the icon if there is room. */
  label?: string;
  id?: string;
  onCopy: () => void;
}

const SHOWN_MILLISECONDS = 1500;

export function CopyButton({ what, label, id, onCopy }: Properties) {
  const [isDone, setDone] = useState(false);
  useEffect(() => {
    if (!isDone) {
      return undefined;
    }
    const timer = setTimeout(() => setDone(false), SHOWN_MILLISECONDS);
    return () => clearTimeout(timer);
  }, [isDone]);
  return (
    <button
      type="button"
      id={id}
      class={isDone ? "quiet done" : "quiet"}
      aria-label={label === undefined || `Copy ${what}`.includes(label) ? `Copy ${what}` : label}
      title={`Copy ${what}`}
      onClick={(event) => {
        event.stopPropagation();
        onCopy();
        setDone(true);
        announce(`Copied ${what}`, 0);
      }}
    >
      <Icon name={isDone ? "check" : "copy"} />
      {label === undefined ? null : <span class="button-label">{isDone ? "Copied" : label}</span>}
    </button>
  );
}
