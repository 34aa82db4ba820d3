/** Plain text in a monospace font; JSON with colored keys and strings. */

import { useEffect, useMemo, useState } from "preact/hooks";

import { grouped } from "../shared/format";
import { MarkedText } from "../shared/markedText";
import type { Part } from "../wire/preview";
import { jsonMarks } from "./jsonMarks";
import { MappedText } from "./mappedText";
import { contentOf } from "./sourceMap";

/** How many characters are laid out at once. */
const PAGE_CHARACTERS = 100_000;

/** A page of a long text, with a button for the next page. */
function usePage(length: number): { end: number; more: preact.JSX.Element | null } {
  const [pages, setPages] = useState(1);
  useEffect(() => {
    if (length <= PAGE_CHARACTERS) {
      setPages(1);
    }
  }, [length]);
  const end = Math.min(length, pages * PAGE_CHARACTERS);
  const more =
    end === length ? null : (
      <button type="button" class="more" onClick={() => setPages(pages + 1)}>
        Show {grouped(Math.min(PAGE_CHARACTERS, length - end))} more of {grouped(length)} characters
      </button>
    );
  return { end, more };
}

export function Plain({ text, label, isJson = false }: { text: string; label: string; isJson?: boolean }) {
  const { end, more } = usePage(text.length);
  const page = end === text.length ? text : text.slice(0, end);
  const marks = useMemo(() => (isJson ? jsonMarks(page) : []), [page, isJson]);
  return (
    <>
      <pre class="plain" tabIndex={0} aria-label={label}>
        <MarkedText text={page} marks={marks} />
      </pre>
      {more}
    </>
  );
}

/** The remaining parts as one text, each piece linked to the template. */
export function OneText({ parts }: { parts: readonly Part[] }) {
  const kept = parts.filter((part) => part.kept);
  const { end, more } = usePage(kept.reduce((sum, part) => sum + contentOf(part).length, 0));
  let begun = 0;
  return (
    <>
      <pre class="plain" tabIndex={0} aria-label="The prompt as one text">
        {kept.map((part) => {
          const content = contentOf(part);
          const text = content.slice(0, Math.max(0, end - begun));
          begun += content.length;
          return text === "" ? null : <MappedText key={part.index} part={part} text={text} />;
        })}
      </pre>
      {more}
    </>
  );
}
