/** A number, chosen by slider or typed. */

import { useEffect, useState } from "preact/hooks";

interface Properties {
  id: string;
  label: string;
  /** Null means no limit, at the slider's end. */
  value: number | null;
  end: number;
  /** The value in the file; shown with a button that restores it if another value is tried. */
  isTried: boolean;
  onChange: (value: number | undefined) => void;
}

export function Slider({ id, label, value, end, isTried, onChange }: Properties) {
  // Preserves what is being typed when the page receives an update.
  const [draft, setDraft] = useState<string>();
  useEffect(() => setDraft(undefined), [value]);
  const typed = (event: Event): void => {
    const { value: text } = event.currentTarget as HTMLInputElement;
    onChange(text === "" || !(Number(text) >= 1) ? undefined : Math.floor(Number(text)));
  };
  return (
    <div class={isTried ? "slider tried" : "slider"}>
      <label for={id}>{label}</label>
      <input
        type="range"
        min="1"
        max={end}
        value={value ?? end}
        aria-label={`${label}, in tokens`}
        aria-valuetext={value === null ? "none" : `${value} tokens`}
        onInput={typed}
      />
      <input
        id={id}
        type="number"
        min="1"
        value={draft ?? value ?? ""}
        placeholder="none"
        onInput={(event) => setDraft(event.currentTarget.value)}
        onChange={typed}
        onBlur={() => setDraft(undefined)}
      />
    </div>
  );
}
