/** Runs in progress and the requested run: progress, and the question before it starts. */

import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import { BidiText } from "../shared/bidiText";
import type { RunningRun } from "../wire/results";
import type { Question } from "./source";
import { source } from "./store";

export const running = signal<readonly RunningRun[]>([]);
/** The current step before a requested run starts. */
export const preparing = signal("");
/** The content of the page for a prompt that has not been run yet. */
export const notRun = signal<{ prompt: string; name: string } | undefined>(undefined);
/** The question before a run starts. */
export const openQuestion = signal<Question | undefined>(undefined);

/** A line for each run in progress. */
export function RunsInProgress() {
  const live = source.value?.live;
  return (
    <>
      {preparing.value === "" ? null : (
        <p class="going-on" role="status">
          {preparing.value}
        </p>
      )}
      {running.value.map(({ id, experiment, message, share, canCancel }) => (
        <div class="going-on" key={id}>
          <span>
            Running <BidiText text={experiment} />: <span class="number">{message}</span>
          </span>
          <progress value={share} aria-label={`Progress of ${experiment}`} />
          {canCancel ? (
            <button type="button" onClick={() => live?.cancelRun(id)}>
              Cancel
            </button>
          ) : null}
        </div>
      ))}
    </>
  );
}

/** The content of the page without results. */
export function NotRun() {
  const { prompt, name } = notRun.value ?? { prompt: "", name: "" };
  const isGoingOn = running.value.length > 0 || preparing.value !== "";
  return (
    <div class="alone">
      <p class="empty">
        <BidiText text={name} /> has not been run yet.{" "}
        {isGoingOn ? "The results are shown here when the run has ended." : ""}
      </p>
      {isGoingOn ? null : (
        <button type="button" onClick={() => source.value?.live?.runAgain(prompt)}>
          Run it
        </button>
      )}
    </div>
  );
}

/** The dialog in front of the page; Escape declines. */
export function RunQuestion() {
  const dialog = useRef<HTMLDialogElement>(null);
  const question = openQuestion.value;
  useEffect(() => {
    if (question !== undefined) {
      dialog.current?.showModal();
    }
  }, [question]);
  if (question === undefined) {
    return null;
  }
  const answer = (yes: boolean): void => {
    openQuestion.value = undefined;
    preparing.value = yes ? "Starting the run …" : "";
    source.value?.live?.confirm(question.id, yes);
  };
  return (
    <dialog ref={dialog} aria-labelledby="question" onCancel={() => answer(false)}>
      <h2 id="question">{question.title}</h2>
      <p>{question.message}</p>
      <div class="answers">
        <button type="button" class="primary" onClick={() => answer(true)}>
          Run
        </button>
        <button type="button" onClick={() => answer(false)}>
          Cancel
        </button>
      </div>
    </dialog>
  );
}
