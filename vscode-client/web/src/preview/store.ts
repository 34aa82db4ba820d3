/** The state of the page, and the functions that change it. */

import { computed, signal } from "@preact/signals";

import { announce } from "../shared/announce";
import { errorMessage } from "../shared/errorMessage";
import { baseName, count, grouped } from "../shared/format";
import { connect } from "../shared/host";
import type { AnswersResult, AskResult, PreviewChoice, SaveArguments, SaveResult } from "../wire/preview";
import type { FromPage, ToPage } from "./messages";
import type { Segment } from "./sourceMap";
import { type Cursor, partAt, type Place, placesAt } from "./sourceMap";
import { NOTHING, type Shown, type View, VIEWS, withoutAnswer, withResult } from "./state";

/** What is stored when the page is hidden. */
interface Saved {
  uri?: string;
  view?: View;
  choice?: PreviewChoice;
  controls?: boolean;
  answer?: boolean;
  answerHeight?: number;
  /** The partial text of an arriving answer. */
  unfinished?: string;
}

/** Milliseconds between two saves of an arriving answer. */
const SAVING_MILLISECONDS = 300;
const INTERRUPTED = "The answer was interrupted when this page was loaded again.";

export const shown = signal<Shown>(NOTHING);
export const choice = signal<PreviewChoice>({});
export const cursor = signal<Cursor | undefined>(undefined);
/** The segment selected by keyboard in the focused part. */
export const walked = signal<Place | undefined>(undefined);
export const ended = signal(false);

/** The current or last request to a model. */
export interface Asking {
  isRunning: boolean;
  /** The partial text of the answer. */
  text: string;
  /** What the user has to confirm before the model is asked. */
  question: { text: string; action: string } | undefined;
  /** Why there is no answer, or why it is not stored. */
  message: string;
}
const NOT_ASKED: Asking = { isRunning: false, text: "", question: undefined, message: "" };
export const asking = signal<Asking>(NOT_ASKED);
/** The stored answers to the prompt with the current data. */
export const answers = signal<AnswersResult | undefined>(undefined);
/** The model to ask; by default the default model. */
export const model = signal<string | undefined>(undefined);
/** Whether the answer is shown below the prompt. */
export const answerIsOpen = signal(false);
/** The height of the answer in pixels, if the user has chosen one; else that of its text. */
export const answerHeight = signal<number | undefined>(undefined);
export interface RevealedPlace {
  line: number;
  character?: number;
  uri?: string;
  path?: string;
}
/** The place of the template that the page in a browser shows beside the rendering. */
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
answerIsOpen.value = saved.answer ?? false;
if (saved.unfinished !== undefined) {
  asking.value = { ...NOT_ASKED, text: saved.unfinished, message: INTERRUPTED };
}
let savedAt = 0;
answerHeight.value = saved.answerHeight;

/** The rendered ranges of the template text at the cursor; the whole part if nothing finer is known. */
export const places = computed<Place[]>(() => {
  const { rendering, result } = shown.value;
  const at = cursor.value;
  return rendering === undefined || at === undefined
    ? []
    : placesAt(rendering.parts, result?.files ?? [], at);
});

/** The index of the part at the cursor. */
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

function receive(message: ToPage): void {
  switch (message.type) {
    case "show": {
      const before = shown.value;
      if ((before.result?.uri ?? saved.uri ?? message.result.uri) !== message.result.uri) {
        choice.value = {};
        cursor.value = undefined;
        model.value = undefined;
        asking.value = NOT_ASKED;
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
    case "answerText":
      asking.value = { ...asking.value, text: asking.value.text + message.text };
      if (performance.now() - savedAt > SAVING_MILLISECONDS) {
        save();
      }
      return;
    case "confirm":
      asking.value = { ...asking.value, question: { text: message.question, action: message.action } };
      return;
    case "askAgain":
      void askModel();
      return;
    case "cursor":
      cursor.value = { uri: message.uri, line: message.line, character: message.character };
  }
}

/** Announces the changes of an update; failures announce themselves. */
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
  const state: Saved = {
    view: view.value,
    choice: choice.value,
    controls: controls.value,
    answer: answerIsOpen.value,
    ...(answerHeight.value === undefined ? {} : { answerHeight: answerHeight.value }),
    ...(asking.value.isRunning ? { unfinished: asking.value.text } : {}),
  };
  savedAt = performance.now();
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

/** Asks the model with the current rendering; the answer appears as it arrives. */
export async function askModel(): Promise<void> {
  answerIsOpen.value = true;
  if (asking.value.isRunning) {
    return;
  }
  asking.value = { ...NOT_ASKED, isRunning: true };
  save();
  let message: string;
  try {
    const found = await ask<AskResult>("model", { ...shownChoice(), model: model.value });
    ({ message } = found);
    const known = answers.value;
    if (found.answer !== null && known !== undefined) {
      answers.value = { ...known, answers: [...known.answers, found.answer], digest: found.answer.digest };
      asking.value = { ...asking.value, text: "" };
      announce("The model has answered.");
    }
  } catch (error) {
    message = errorMessage(error);
  }
  asking.value = { ...asking.value, isRunning: false, question: undefined, message };
  save();
}

export function stopAsking(): void {
  host.post({ type: "stop" });
}

export function confirm(yes: boolean): void {
  asking.value = { ...asking.value, question: undefined };
  host.post({ type: "confirmed", yes });
}

/** Reads the stored answers to the current rendering, and the models that can be asked. */
export async function readAnswers(): Promise<void> {
  const { uri } = shown.value.result ?? {};
  const chosen = JSON.stringify(shownChoice());
  try {
    const found = await ask<AnswersResult>("answers", shownChoice());
    if (uri === shown.value.result?.uri && chosen === JSON.stringify(shownChoice())) {
      answers.value = found;
    }
  } catch (error) {
    asking.value = { ...asking.value, message: errorMessage(error) };
  }
}

export function closeAnswer(): void {
  answerIsOpen.value = false;
  save();
}

export function resizeAnswer(height: number | undefined): void {
  answerHeight.value = height;
  save();
}

/** Adds the current data to the prompt's files; resolves to its new place. */
export async function saveData(to: SaveArguments["to"], given: Partial<SaveArguments>): Promise<string> {
  const data = shown.value.result?.data ?? {};
  const { message, sample } = await ask<SaveResult>("save", { data, ...given, to });
  if (sample !== null) {
    choose({ sample, row: undefined, data: undefined });
  }
  return message;
}

/** Returns the selected data; the current data if nothing is selected. */
function shownChoice(): PreviewChoice {
  const { sample } = shown.value.result ?? {};
  if (choice.value.data !== undefined || sample == null) {
    return choice.value;
  }
  return { ...choice.value, ...(sample.row === undefined ? { sample: sample.name } : { row: sample.row }) };
}

/** Opens the truncation lab of the prompt in the editor; the page in a browser has a link to it. */
export function openLab(): void {
  host.post({ type: "lab" });
}

/** Opens VS Code's page about workspace trust. */
export function manageTrust(): void {
  host.post({ type: "trust" });
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
