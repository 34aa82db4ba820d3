/** The state of the page, and the functions that change it. */

import { computed, signal } from "@preact/signals";

import { announce } from "../shared/announce";
import type { Notes, ResultsView, RowFilter, Run, RunComparison, Thumb } from "../wire/results";
import { usualColumns } from "./columns";
import type { Page } from "./messages";
import type { Source } from "./source";

export const view = signal<ResultsView | undefined>(undefined);
export const source = signal<Source | undefined>(undefined);
export const failure = signal("");
/** Other runs were requested. */
export const isBusy = signal(false);
export const page = signal<Page>("Overview");
export const filter = signal<RowFilter>({});
/** The row whose details are shown, by its index in the table. */
export const current = signal<number | undefined>(undefined);
export const selected = signal<ReadonlySet<number>>(new Set());
/** The columns that the reader has chosen, for all runs. */
export const chosenColumns = signal<string[] | undefined>(undefined);
const index = signal(0);
/** Notes saved since the view was created, by the path of their run. */
const kept = signal<Record<string, Notes>>({});

export const run = computed<Run | undefined>(() => view.value?.runs[index.value]);
/** The comparison of the current run with the first. */
export const comparison = computed<RunComparison | undefined>(() =>
  view.value?.comparisons.find((each) => each.run === run.value?.path),
);
export const notes = computed<Notes>(() =>
  run.value === undefined ? {} : (kept.value[run.value.path] ?? run.value.notes),
);
/** The number of changes to notes that are stored. */
export const storedNotes = signal(0);
/** Whether cells show several lines. */
export const isWrapped = signal(false);
/** The height of a table row in pixels. */
export const rowHeight = computed(() => (isWrapped.value ? 96 : 30));
/** The widths in pixels of the columns that the reader has resized, by name. */
export const columnWidths = signal<Readonly<Record<string, number>>>({});

export const columns = computed<string[]>(() => {
  const shown = run.value;
  if (shown === undefined) {
    return [];
  }
  const found = chosenColumns.value?.filter((column) => shown.columns.includes(column)) ?? [];
  return found.length === 0 ? usualColumns(shown) : found;
});
/** The pages that have content for these runs. */
export const pages = computed<Page[]>(() => {
  const all: Page[] = ["Overview", "Rows"];
  if ((view.value?.runs.length ?? 0) > 1 || source.value?.live !== undefined) {
    all.push("Compare");
  }
  return (run.value?.classes.length ?? 0) > 0 ? [...all, "Classes"] : all;
});

export function show(next: ResultsView, on?: Page): void {
  const before = run.value?.path;
  if (
    !next.complete &&
    view.value?.complete === true &&
    pathsOf(next) === pathsOf(view.value) &&
    on === undefined
  ) {
    // The page already shows more, and the new content is about to arrive.
    return;
  }
  view.value = next;
  index.value = next.runs.length - 1;
  failure.value = "";
  isBusy.value = false;
  if (!next.complete || run.value?.path !== before) {
    kept.value = {};
  }
  if (run.value?.path !== before) {
    forgetRows();
  }
  if (on !== undefined) {
    page.value = on;
  }
  if (next.complete && !pages.value.includes(page.value)) {
    page.value = "Overview";
  }
  const shown = run.value;
  if (shown !== undefined && next.complete) {
    document.title = `${shown.name} · promptls`;
    announce(`${shown.name}: ${shown.metrics.map(({ name, text }) => `${name} ${text}`).join(", ")}`);
  }
}

/** Removes the runs: the reader has requested those of a prompt that has none. */
export function showNothing(): void {
  view.value = undefined;
  failure.value = "";
  isBusy.value = false;
  forgetRows();
}

function pathsOf({ runs }: ResultsView): string {
  return runs.map(({ path }) => path).join("\n");
}

export function fail(message: string): void {
  failure.value = message;
  isBusy.value = false;
}

/** Shows another run: one of the view, or one requested from the server. */
export function chooseRun(path: string): void {
  const shown = view.value;
  const live = source.value?.live;
  if (shown === undefined || path === run.value?.path) {
    return;
  }
  if (live === undefined) {
    index.value = shown.runs.findIndex((each) => each.path === path);
    forgetRows();
  } else {
    isBusy.value = true;
    const others = shown.runs.slice(0, -1).map((each) => each.path);
    live.choose(
      path,
      others.filter((other) => other !== path),
    );
  }
}

/** Adds a run to the comparison, or removes it. */
export function toggleAgainst(path: string): void {
  const shown = view.value;
  const live = source.value?.live;
  const last = shown?.runs.at(-1);
  if (live !== undefined && shown !== undefined && last !== undefined) {
    isBusy.value = true;
    const others = shown.runs.slice(0, -1).map((each) => each.path);
    live.choose(
      last.path,
      others.includes(path) ? others.filter((other) => other !== path) : [...others, path],
    );
  }
}

export function setFilter(change: Partial<{ [Key in keyof RowFilter]: RowFilter[Key] | undefined }>): void {
  const next = { ...filter.value, ...change };
  filter.value = Object.fromEntries(
    Object.entries(next).filter(([, value]) => value !== undefined && value !== "" && value !== false),
  );
}

/** Shows the rows that a link on another page refers to. */
export function showRows(next: RowFilter): void {
  filter.value = next;
  page.value = "Rows";
}

export function toggleSelected(place: number): void {
  const next = new Set(selected.value);
  if (!next.delete(place)) {
    next.add(place);
  }
  selected.value = next;
}

let lastNote = 0;

/** Saves a thumb and a note, which are shown immediately; rejects if they cannot be written. */
export async function saveNote(place: number, thumb: Thumb | null, text: string): Promise<void> {
  const path = run.value?.path;
  const live = source.value?.live;
  if (path !== undefined && live !== undefined) {
    lastNote += 1;
    const number = lastNote;
    kept.value = { ...kept.value, [path]: { ...notes.value, [String(place)]: { thumb, text } } };
    const answer = await live.note(path, place, thumb, text);
    storedNotes.value += 1;
    // The answer to an earlier change does not include the later one.
    if (number === lastNote) {
      kept.value = { ...kept.value, [path]: answer.notes };
    }
  }
}

function forgetRows(): void {
  filter.value = {};
  current.value = undefined;
  selected.value = new Set();
}
