/** A reader's verdict on a row: a thumb and a note, which never change its scores. */

import { useState } from "preact/hooks";

import { announce } from "../shared/announce";
import { errorMessage } from "../shared/errorMessage";
import { Icon } from "../shared/icons";
import { MarkedText } from "../shared/markedText";
import type { Thumb } from "../wire/results";
import { notes, saveNote, source } from "./store";

export function NoteEditor({ place }: { place: number }) {
  const note = notes.value[String(place)];
  const [failure, setFailure] = useState("");
  /** The unsaved text. */
  const [draft, setDraft] = useState<string>();
  const text = draft ?? note?.text ?? "";
  const canWrite = source.value?.live !== undefined;
  if (!canWrite) {
    return note === undefined ? null : (
      <div class="note-shown">
        {note.thumb === null ? null : <span class={`badge ${note.thumb}`}>thumb {note.thumb}</span>}
        <MarkedText text={note.text} />
      </div>
    );
  }
  const save = (thumb: Thumb | null): void => {
    saveNote(place, thumb, text).then(
      () => {
        setFailure("");
        // Text that was typed meanwhile stays.
        setDraft((typed) => (typed === text ? undefined : typed));
        announce("Saved", 0);
      },
      (error: unknown) => setFailure(errorMessage(error)),
    );
  };
  const thumbs = [
    ["up", "thumbUp", "Good answer"],
    ["down", "thumbDown", "Bad answer"],
  ] as const;
  return (
    <div class="note-editor">
      <div class="thumbs" role="group" aria-label="What do you think of the answer?">
        {thumbs.map(([thumb, icon, label]) => (
          <button
            type="button"
            key={thumb}
            id={`thumb-${thumb}`}
            class={`toggle ${thumb}`}
            aria-pressed={note?.thumb === thumb}
            aria-label={label}
            title={label}
            onClick={() => save(note?.thumb === thumb ? null : thumb)}
          >
            <Icon name={icon} />
          </button>
        ))}
      </div>
      <textarea
        id="note"
        rows={1}
        placeholder="A note on this row"
        aria-label="A note on this row"
        value={text}
        onInput={(event) => setDraft(event.currentTarget.value)}
        onChange={() => save(note?.thumb ?? null)}
      />
      {failure === "" ? null : <p class="failure">{failure}</p>}
    </div>
  );
}
