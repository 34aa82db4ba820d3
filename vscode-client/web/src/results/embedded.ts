/** Answers queries from the data in a report. */

import type { Cells, Notes, PackedTable, Report, RowFilter } from "../wire/results";
import { exportedText } from "./exported";
import { foundRows, type KnownRow } from "./rowFilter";
import type { Source } from "./source";

const KINDS: Record<string, KnownRow["kind"]> = { g: "good", f: "failing", e: "error", p: "problem" };

/** How the browser saves or copies a text. */
export interface Desk {
  save: (text: string, name: string) => void;
  copy: (text: string) => void;
}

/** Answers from the data; a text to be saved or copied goes to `desk`. */
export function sourceOf({ view, tables, pairs }: Report, desk: Desk): Source {
  const indexOf = (path: string): number => view.runs.findIndex((run) => run.path === path);
  const known = tables.map(knownRows);
  const byPlace = known.map((rows) => new Map(rows.map((row) => [row.place, row])));
  const notesOf = (run: number): Notes => view.runs[run]?.notes ?? {};
  const find = (path: string, filter: RowFilter): KnownRow[] => {
    const run = indexOf(path);
    return foundRows(known[run] ?? [], filter, {
      changed:
        filter.changedFrom === undefined ? undefined : changedRows(run, indexOf(filter.changedFrom), pairs),
      noted: new Set(Object.keys(notesOf(run)).map(Number)),
    });
  };
  let last: { key: string; rows: KnownRow[] } | undefined;
  const matching = (path: string, filter: RowFilter): KnownRow[] => {
    const key = JSON.stringify([path, filter]);
    last = last?.key === key ? last : { key, rows: find(path, filter) };
    return last.rows;
  };
  return {
    live: undefined,
    forms: ["csv", "jsonl"],
    rows: (run, filter, start, count) => {
      const rows = matching(run, filter);
      return Promise.resolve({ total: rows.length, start, rows: rows.slice(start, start + count) });
    },
    pairs: (before, after, differing, start, count) => {
      const cells = (run: string, place: number | null): Cells | null =>
        place === null ? null : (byPlace[indexOf(run)]?.get(place)?.cells ?? null);
      const all = (pairs[indexOf(after) - 1] ?? [])
        .filter(([, , differs]) => !differing || differs === 1)
        .map(([left, right]) => ({ before: cells(before, left), after: cells(after, right) }))
        // A row that is not in the report belongs to neither.
        .filter((pair) => pair.before !== null || pair.after !== null);
      return Promise.resolve({ total: all.length, start, rows: all.slice(start, start + count) });
    },
    messages: (run, place) => {
      const index = indexOf(run);
      const hash = byPlace[index]?.get(place)?.cells.rendered_hash ?? "";
      return Promise.resolve({ messages: tables[index]?.messages[hash] ?? null });
    },
    export: (run, name, filter, form) => {
      const index = indexOf(run);
      const text = exportedText(matching(run, filter), view.runs[index]?.columns ?? [], notesOf(index), form);
      desk.save(text, `${name}-export.${form}`);
    },
    copy: desk.copy,
  };
}

function knownRows({ columns, rows, places, states }: PackedTable): KnownRow[] {
  return rows.map((row, at) => ({
    place: places[at] ?? at,
    kind: KINDS[states[at] ?? "g"] ?? "good",
    cells: Object.fromEntries(columns.map((column, number) => [column, row[number] ?? ""])),
  }));
}

/**
 * Returns the indices of a run's rows that differ from those of another run; one of the two is the first run.
 */
function changedRows(run: number, other: number, pairs: Report["pairs"]): ReadonlySet<number> {
  const [found, side] = run === 0 ? [pairs[other - 1], 0 as const] : [pairs[run - 1], 1 as const];
  return new Set((found ?? []).flatMap((pair) => (pair[2] === 1 && pair[side] !== null ? [pair[side]] : [])));
}
