/** The data of a report, which stands compressed in its own page. */

import type { Cells, Message, Notes, ResultsView, Wanted } from "../../results/view";
import { exportedText } from "./exported";
import { foundRows, type KnownRow } from "./rowFilter";
import type { Receiver, Source } from "./source";

interface Embedded {
  view: ResultsView;
  tables: Table[];
  /** For each run but the first: its place there, here, and 1 where the rows differ. */
  pairs: [number | null, number | null, number][][];
}

interface Table {
  columns: string[];
  rows: string[][];
  places: number[];
  /** A letter a row. */
  states: string;
  messages: Record<string, Message[]>;
}

const KINDS: Record<string, KnownRow["kind"]> = { g: "good", f: "failing", e: "error", p: "problem" };

/** Reads the data of this page; undefined where it is the page of a panel. */
export function embeddedElement(): HTMLElement | undefined {
  return document.getElementById("report-data") ?? undefined;
}

/** Returns the source once the data is unpacked and shown; what is wrong with it is told. */
export async function embeddedSource(element: HTMLElement, receiver: Receiver): Promise<Source> {
  const data = JSON.parse(await unpacked(element.textContent)) as Embedded;
  element.remove();
  const source = sourceOf(data);
  receiver.show(data.view);
  return source;
}

async function unpacked(text: string): Promise<string> {
  const bytes = Uint8Array.from(atob(text.trim()), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

export function sourceOf({ view, tables, pairs }: Embedded): Source {
  const indexOf = (path: string): number => view.runs.findIndex((run) => run.path === path);
  const known = tables.map(knownRows);
  const byPlace = known.map((rows) => new Map(rows.map((row) => [row.place, row])));
  const notesOf = (run: number): Notes => view.runs[run]?.notes ?? {};
  const find = (path: string, wanted: Wanted): KnownRow[] => {
    const run = indexOf(path);
    return foundRows(known[run] ?? [], wanted, {
      changed: wanted.changedFrom === undefined ? undefined : changedRows(run, indexOf(wanted.changedFrom), pairs),
      noted: new Set(Object.keys(notesOf(run)).map(Number)),
    });
  };
  let last: { key: string; rows: KnownRow[] } | undefined;
  const kept = (path: string, wanted: Wanted): KnownRow[] => {
    const key = JSON.stringify([path, wanted]);
    last = last?.key === key ? last : { key, rows: find(path, wanted) };
    return last.rows;
  };
  return {
    live: undefined,
    forms: ["csv", "jsonl"],
    rows: (run, wanted, start, count) => {
      const rows = kept(run, wanted);
      return Promise.resolve({ total: rows.length, start, rows: rows.slice(start, start + count) });
    },
    pairs: (before, after, differing, start, count) => {
      const cells = (run: string, place: number | null): Cells | null =>
        place === null ? null : (byPlace[indexOf(run)]?.get(place)?.cells ?? null);
      const all = (pairs[indexOf(after) - 1] ?? [])
        .filter(([, , differs]) => !differing || differs === 1)
        .map(([left, right]) => ({ before: cells(before, left), after: cells(after, right) }))
        // A row that the report leaves out is none of either.
        .filter((pair) => pair.before !== null || pair.after !== null);
      return Promise.resolve({ total: all.length, start, rows: all.slice(start, start + count) });
    },
    messages: (run, place) => {
      const index = indexOf(run);
      const hash = byPlace[index]?.get(place)?.cells["rendered_hash"] ?? "";
      return Promise.resolve({ messages: tables[index]?.messages[hash] ?? null });
    },
    export: (run, name, wanted, form) => {
      const index = indexOf(run);
      const text = exportedText(kept(run, wanted), view.runs[index]?.columns ?? [], notesOf(index), form);
      download(text, `${name}-export.${form}`);
    },
    copy: (text) => {
      void navigator.clipboard.writeText(text);
    },
  };
}

function knownRows({ columns, rows, places, states }: Table): KnownRow[] {
  return rows.map((row, at) => ({
    place: places[at] ?? at,
    kind: KINDS[states[at] ?? "g"] ?? "good",
    cells: Object.fromEntries(columns.map((column, number) => [column, row[number] ?? ""])),
  }));
}

/** The places of a run's rows that are not as in another one; one of the two is the first run. */
function changedRows(run: number, other: number, pairs: Embedded["pairs"]): ReadonlySet<number> {
  const [found, side] = run === 0 ? [pairs[other - 1], 0 as const] : [pairs[run - 1], 1 as const];
  return new Set((found ?? []).flatMap((pair) => (pair[2] === 1 && pair[side] !== null ? [pair[side]] : [])));
}

function download(text: string, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  link.download = name;
  link.click();
  setTimeout(() => {
    URL.revokeObjectURL(link.href);
  }, 60_000);
}

