/** What the page of the lab shows, and what changes it. */

import { signal } from "@preact/signals";

import type { Lab, LabOptions } from "../../protocol";
import type { FromPage, ToPage } from "../../truncation/messages";
import { announce } from "../shared/announce";
import { percent } from "../shared/format";
import { connect } from "../shared/host";
import { bestOf, cellAt, firstTried, type Tried } from "./lab";

export const lab = signal<Lab | undefined>(undefined);
export const tried = signal<Tried | undefined>(undefined);
export const failure = signal("");
export const isBusy = signal(true);
export const isStale = signal(false);
const options = signal<LabOptions>({});
export const CACHES = ["exact", "openai", "anthropic", "google", "deepseek", "vllm"];

const host = connect<ToPage, FromPage>((message) => {
  isBusy.value = message.type === "busy";
  switch (message.type) {
    case "show": {
      const { found, failure: why, cancelled } = message.result;
      isStale.value = cancelled;
      failure.value = why?.message ?? "";
      if (found !== null) {
        const before = lab.value?.path === found.path ? tried.value : undefined;
        lab.value = found;
        tried.value = firstTried(found, before);
        announce(found.advice, 0);
      }
      return;
    }
    case "fail":
      failure.value = message.message;
      return;
    case "stale":
      isStale.value = true;
      return;
    case "busy":
      failure.value = "";
  }
});

/** Grows the chat anew with what is chosen. */
export function explore(next: LabOptions): void {
  options.value = { ...options.value, ...next };
  host.post({ type: "explore", options: options.value });
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
  tried.value = next.step === undefined ? firstTried(found, { limit, step: bestOf(found, limit)?.step ?? before.step }) : { limit, step: next.step };
  const cell = tried.value === undefined ? undefined : cellAt(found, tried.value);
  if (cell !== undefined) {
    announce(`Limit ${cell.limit}, step ${cell.step}: ${percent(cell.cacheRate)} from the cache, ${percent(cell.keptRate)} kept.`);
  }
}

export function copy(text: string, what: string): void {
  host.post({ type: "copy", text, what });
}

export function begin(): void {
  host.post({ type: "ready" });
}
