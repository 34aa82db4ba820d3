/** Rows as text for other programs, as the server writes them. */

import type { ExportForm, Notes } from "../../results/view";
import type { KnownRow } from "./rowFilter";

/** Returns the rows with thumbs and notes behind their columns, where any row of the run has one. */
export function exportedText(rows: readonly KnownRow[], columns: readonly string[], notes: Notes, form: ExportForm): string {
  const all = Object.keys(notes).length === 0 ? columns : [...columns, "thumb", "note"];
  const cellsOf = ({ place, cells }: KnownRow): string[] =>
    all.map((column) => {
      const note = notes[String(place)];
      return column === "thumb" ? (note?.thumb ?? "") : column === "note" ? (note?.text ?? "") : (cells[column] ?? "");
    });
  if (form === "jsonl") {
    return rows
      .map((row) => `${JSON.stringify(Object.fromEntries(cellsOf(row).map((cell, at) => [all[at] ?? "", cell])))}\n`)
      .join("");
  }
  return [[...all], ...rows.map(cellsOf)].map((line) => `${line.map(quoted).join(",")}\r\n`).join("");
}

function quoted(cell: string): string {
  return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}
