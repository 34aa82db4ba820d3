/** The state of the page, and what changes it. */

import { computed, signal } from "@preact/signals";

import { announce } from "../shared/announce";
import { baseName, count, grouped } from "../shared/format";
import { type Answer, connect } from "../shared/host";
import type { PreviewChoice } from "../wire/preview";
import type { FromPage, ToPage } from "./messages";
import type { Segment } from "./sourceMap";
import { type Cursor, partAt, type Place, placesAt } from "./sourceMap";
import { NOTHING, type Shown, type View, VIEWS, withoutAnswer, withResult } from "./state";

/** What outlives a page that was hidden. */
interface Saved {
  uri?: string;
  view?: View;
  choice?: PreviewChoice;
  controls?: boolean;
}

export const shown = signal<Shown>(NOTHING);
export const choice = signal<PreviewChoice>({});
export const cursor = signal<Cursor | undefined>(undefined);
/** The place that the keyboard is at, in the part that has the focus. */
export const walked = signal<Place | undefined>(undefined);
export const ended = signal(false);
export interface RevealedPlace {
  line: number;
  character?: number;
  uri?: string;
  path?: string;
}
/** The place of the template that a page in a browser shows beside the rendering. */
export const sourcePlace = signal<RevealedPlace | undefined>(undefined);

const host = connect<ToPage, FromPage>(receive, () => {
  ended.value = true;
});
const saved = (host.state ?? {}) as Saved;
export const view = signal<View>(
  saved.view !== undefined && VIEWS.includes(saved.view) ? saved.view : "Chat",
);
export const controls = signal(saved.controls ?? window.innerWidth >= 560);
export const inEditor = host.inEditor;

/** What the cursor's template text became; the part where nothing finer is known. */
export const places = computed<Place[]>(() => {
  const { rendering, result } = shown.value;
  const at = cursor.value;
  return rendering === undefined || at === undefined
    ? []
    : placesAt(rendering.parts, result?.files ?? [], at);
});

/** The part at the cursor, by its place in the prompt. */
export const currentPart = computed<number | undefined>(() => {
  const at = cursor.value;
  const { rendering, result } = shown.value;
  if (at === undefined || rendering === undefined) {
    return undefined;
  }
  return (
    places.value[0]?.part ?? (at.uri === result?.uri ? partAt(rendering.parts, at.line)?.index : undefined)
  );
});

export function begin(): void {
  if (host.first !== undefined) {
    receive(host.first);
  }
  if (saved.choice !== undefined) {
    choice.value = saved.choice;
    host.post({ type: "choose", choice: saved.choice });
  }
  host.post({ type: "ready" });
}

function receive(message: Exclude<ToPage, Answer>): void {
  switch (message.type) {
    case "show": {
      const before = shown.value;
      if (before.result !== undefined && before.result.uri !== message.result.uri) {
        choice.value = {};
        cursor.value = undefined;
      }
      shown.value = withResult(before, message.result);
      document.title = `${baseName(message.result.path)} · promptls`;
      save();
      announceChange(before, shown.value);
      return;
    }
    case "fail":
      shown.value = withoutAnswer(shown.value, message.uri, message.message);
      return;
    case "cursor":
      cursor.value = { uri: message.uri, line: message.line, character: message.character };
  }
}

/** Announces what an update changed; failures announce themselves. */
function announceChange(before: Shown, after: Shown): void {
  const tokens = after.rendering?.tokens;
  if (after.failure === undefined && tokens !== undefined && tokens !== before.rendering?.tokens) {
    const limit = after.result?.tokenLimit ?? null;
    announce(limit === null ? count(tokens, "token") : `${grouped(tokens)} of ${count(limit, "token")}`);
  } else if (before.failure !== undefined && after.failure === undefined) {
    announce("The prompt renders again.");
  }
}

function save(): void {
  const state: Saved = { view: view.value, choice: choice.value, controls: controls.value };
  const uri = shown.value.result?.uri;
  host.save(uri === undefined ? state : { ...state, uri });
}

export function show(next: View): void {
  view.value = next;
  save();
}

export function toggleControls(): void {
  controls.value = !controls.value;
  save();
}

export function choose(next: PreviewChoice): void {
  choice.value = { ...choice.value, ...next };
  save();
  host.post({ type: "choose", choice: choice.value });
}

/** Opens the truncation lab of the prompt in the editor; a page in a browser has a link to it. */
export function openLab(): void {
  host.post({ type: "lab" });
}

export function copy(text: string, what: string): void {
  host.copy(text, what);
}

export function ask<Answer>(question: string, argument: object): Promise<Answer> {
  return host.ask(question, { uri: shown.value.result?.uri, ...argument });
}

/** Shows a place of the template: in the editor, or beside the rendering. */
export function reveal(line: number, place: Omit<RevealedPlace, "line"> = {}): void {
  if (inEditor) {
    host.post({ type: "reveal", line, ...place });
  } else {
    sourcePlace.value = { line, ...place };
  }
}

export function revealSegment(segment: Segment): void {
  const { line, character } = segment.range.start;
  const uri = shown.value.result?.files[segment.file];
  reveal(line, uri === undefined ? { character } : { character, uri });
}
