/** The data of the rendering, as JSON that can be edited in place. */

import { useEffect, useState } from "preact/hooks";

import { CodeText } from "../shared/codeText";
import { errorMessage } from "../shared/errorMessage";
import { sentence } from "../shared/format";
import { Icon } from "../shared/icons";
import type { PreviewResult } from "../wire/preview";
import { Plain } from "./plain";
import { choice, choose, saveData } from "./store";

const PAUSE_MILLISECONDS = 250;

export function DataView({ result }: { result: PreviewResult }) {
  const [isEdited, setEdited] = useState(choice.value.data !== undefined);
  const text = JSON.stringify(result.data, null, 2);
  return (
    <>
      <div class="options-row">
        {isEdited ? null : (
          <button type="button" id="edit-data" onClick={() => setEdited(true)}>
            <Icon name="edit" /> Edit
          </button>
        )}
        {isEdited ? (
          <button
            type="button"
            id="back"
            onClick={() => {
              setEdited(false);
              choose({ data: undefined });
            }}
          >
            <Icon name="undo" /> Back to the sample
          </button>
        ) : null}
        <SaveAsSample onSaved={() => setEdited(false)} />
      </div>
      {isEdited ? <Editor initial={text} /> : <Plain text={text} label="Data" isJson />}
    </>
  );
}

function Editor({ initial }: { initial: string }) {
  const [text, setText] = useState(initial);
  const [fault, setFault] = useState("");
  useEffect(() => {
    if (text === initial) {
      return undefined;
    }
    const timer = setTimeout(() => {
      try {
        const data: unknown = JSON.parse(text);
        if (typeof data !== "object" || data === null || Array.isArray(data)) {
          throw new Error("The data must be an object: inputs by name.");
        }
        setFault("");
        choose({ data: data as Record<string, unknown> });
      } catch (error) {
        setFault(errorMessage(error));
      }
    }, PAUSE_MILLISECONDS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <>
      <textarea
        id="data"
        class="data-text"
        aria-label="Data as JSON"
        aria-invalid={fault !== ""}
        spellcheck={false}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      {fault === "" ? null : (
        <p class="note" role="alert">
          {fault}
        </p>
      )}
    </>
  );
}

function SaveAsSample({ onSaved }: { onSaved: () => void }) {
  const [name, setName] = useState("");
  const [message, setMessage] = useState("");
  return (
    <form
      class="save-sample"
      onSubmit={(event) => {
        event.preventDefault();
        saveData("sample", { sample: name }).then(
          (saved) => {
            setMessage(saved);
            setName("");
            onSaved();
          },
          (error: unknown) => setMessage(sentence(errorMessage(error))),
        );
      }}
    >
      <input
        id="sample-name"
        aria-label="Name of the sample"
        placeholder="Name"
        size={14}
        value={name}
        onInput={(event) => setName(event.currentTarget.value)}
      />
      <button type="submit" disabled={name.trim() === ""}>
        Save as sample
      </button>
      {message === "" ? null : (
        <span role="status">
          <CodeText text={message} />
        </span>
      )}
    </form>
  );
}
