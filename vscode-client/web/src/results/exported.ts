/** Rows as text for other programs, in the server's format. */

import type { ExportForm, Notes } from "../wire/results";
import type { KnownRow } from "./rowFilter";

/** Returns the rows, followed by thumbs and notes if any row of the run has one. */
export function exportedText(
  rows: readonly KnownRow[],
  columns: readonly string[],
  notes: Notes,
  form: ExportForm,
): string {
  const all = Object.keys(notes).length === 0 ? columns : [...columns, "thumb", "note"];
  const cellsOf = ({ place, cells }: KnownRow): string[] =>
    all.map((column) => {
      const note = notes[String(place)];
      return column === "thumb"
        ? (note?.thumb ?? "")
        : column === "note"
          ? (note?.text ?? "")
          : (cells[column] ?? "");
    });
  if (form === "jsonl") {
    return rows
      .map(
        (row) =>
          `${JSON.stringify(Object.fromEntries(cellsOf(row).map((cell, at) => [all[at] ?? "", cell])))}\n`,
      )
      .join("");
  }
  return [[...all], ...rows.map(cellsOf)].map((line) => `${line.map(quoted).join(",")}\r\n`).join("");
}

// `export.py` of the server has the same two columns.
const FORMULA = /^[=+\-@\t\r]/;
const NUMBER = /^[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i;

/** Returns a CSV cell; a value that a spreadsheet would evaluate gets a leading apostrophe. */
function quoted(cell: string): string {
  const text = FORMULA.test(cell) && !NUMBER.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
