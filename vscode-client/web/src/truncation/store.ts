/** What the page of the lab shows, and what changes it. */

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
/** What was written into the header last. */
export const applied = signal<Tried | undefined>(undefined);
/** The edit of the header is reported as a change of the prompt, and so is saving it, by some editors twice. */
const CHANGES_OF_APPLYING = 3;
/** How many of the next changes are answered by exploring again, because they are those of applying. */
let ownChanges = 0;
/** The progress message. */
export const progress = signal("");
export const ended = signal(false);
const options = signal<LabOptions>({});
/** What the reader typed and is shown once it has been tried. */
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

/** Simulates the chat with the current choices. */
export function explore(next: LabOptions): void {
  options.value = { ...options.value, ...next };
  host.post({ type: "explore", options: options.value });
}

/** Shows a limit or step that the reader typed: one that was not tried yet is tried now. */
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

/** Shows another limit or step of those that were tried. */
export function attempt(next: Partial<Tried>): void {
  const found = lab.value;
  const before = tried.value;
  if (found === undefined || before === undefined) {
    return;
  }
  const limit = next.limit ?? before.limit;
  // Another limit has other steps: its best one is shown.
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

/** Writes the limit and step that are shown into the header of the prompt. */
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
