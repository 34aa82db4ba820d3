/** The state of the lab's page, and the functions that change it. */

import { signal } from "@preact/signals";

import { announce } from "../shared/announce";
import { percent } from "../shared/format";
import { connect } from "../shared/host";
import type { Lab } from "../wire/lab";
import type { LabOptions } from "../wire/preview";
import { bestOf, cellAt, firstTried, stepsOf, type Tried, type Wish } from "./lab";
import type { FromPage, ToPage } from "./messages";

export const lab = signal<Lab | undefined>(undefined);
export const tried = signal<Tried | undefined>(undefined);
export const failure = signal("");
export const isBusy = signal(true);
export const isStale = signal(false);
/** What was last written into the header. */
export const applied = signal<Tried | undefined>(undefined);
/** Editing the header is reported as a change of the prompt, and so is saving it, in some editors twice. */
const CHANGES_OF_APPLYING = 3;
/** How many of the next changes were caused by applying, and only need a new exploration. */
let ownChanges = 0;
/** The progress message. */
export const progress = signal("");
export const ended = signal(false);
const options = signal<LabOptions>({});
/** A value typed by the reader that is shown once it has been tried. */
let selection: Wish = {};
export const CACHES = ["exact", "openai", "anthropic", "google", "deepseek", "vllm"];

const host = connect<ToPage, FromPage>(receive, () => {
  ended.value = true;
});

function receive(message: ToPage): void {
  isBusy.value = message.type === "busy" || message.type === "progress";
  switch (message.type) {
    case "show": {
      const { found, failure: why, cancelled } = message.result;
      isStale.value = cancelled;
      failure.value = why?.message ?? "";
      if (found !== null) {
        const before = lab.value?.path === found.path ? { ...tried.value, ...selection } : undefined;
        selection = {};
        lab.value = found;
        tried.value = firstTried(found, before);
        announce(found.advice, 0);
      }
      return;
    }
    case "fail":
      failure.value = message.message;
      ownChanges = 0;
      return;
    case "stale":
      if (ownChanges > 0) {
        ownChanges -= 1;
        explore({});
      } else {
        applied.value = undefined;
        isStale.value = true;
      }
      return;
    case "applied":
      applied.value = tried.value;
      announce("Written to the header.");
      return;
    case "progress":
      progress.value = message.message;
      return;
    case "busy":
      progress.value = "";
      failure.value = "";
  }
}

/** Simulates the chat with the current selection. */
export function explore(next: LabOptions): void {
  options.value = { ...options.value, ...next };
  host.post({ type: "explore", options: options.value });
}

/** Shows a limit or step that the reader typed, and tries it if necessary. */
export function attemptFree(next: Partial<Tried>): void {
  const found = lab.value;
  const at = tried.value;
  if (found === undefined || at === undefined) {
    return;
  }
  const limit = next.limit ?? at.limit;
  const isKnown =
    next.step === undefined ? found.limits.includes(limit) : stepsOf(found, limit).includes(next.step);
  if (isKnown) {
    attempt(next);
  } else {
    selection = { limit, step: next.step };
    explore({ limit, ...(next.step === undefined ? {} : { step: next.step }) });
  }
}

/** Shows another tried limit or step. */
export function attempt(next: Partial<Tried>): void {
  const found = lab.value;
  const before = tried.value;
  if (found === undefined || before === undefined) {
    return;
  }
  const limit = next.limit ?? before.limit;
  // Another limit has other steps: show its best one.
  tried.value =
    next.step === undefined
      ? firstTried(found, { limit, step: bestOf(found, limit)?.step ?? before.step })
      : { limit, step: next.step };
  const cell = tried.value === undefined ? undefined : cellAt(found, tried.value);
  if (cell !== undefined) {
    announce(
      `Limit ${cell.limit}, step ${cell.step}: ${percent(cell.cacheRate)} from the cache, ${percent(cell.keptRate)} kept.`,
    );
  }
}

/** Writes the current limit and step into the header of the prompt. */
export function apply(): void {
  if (tried.value !== undefined) {
    ownChanges = CHANGES_OF_APPLYING;
    failure.value = "";
    host.post({ type: "apply", ...tried.value });
  }
}

export function copy(text: string, what: string): void {
  host.copy(text, what);
}

export function begin(): void {
  host.post({ type: "ready" });
}
