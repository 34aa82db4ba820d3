/** The rows of a run as a table: which columns, in which order, sorted and filtered. */

import type { Metric, ResultsResult } from "../../protocol";

export type Row = Record<string, unknown>;

export interface Sorting {
  column: string;
  ascending: boolean;
}

/** Columns about the call rather than its content: they stand in a row's details. */
const ASIDE = new Set([
  "cost",
  "experiment_name",
  "finish_reason",
  "input_tokens",
  "output_tokens",
  "rendered_hash",
  "row_number",
]);
/** Columns that say something only where they tell rows apart. */
const TELLING_APART = new Set(["model", "repeat"]);
const LONGEST_NUMBER = 40;

/** Columns of the table: the scores first, where a narrow panel shows them too, then what the row holds. */
export function shownColumns(result: ResultsResult): string[] {
  const scores = new Set(result.metrics.map((metric) => metric.name));
  const content = result.columns.filter(
    (column) =>
      !scores.has(column) &&
      !ASIDE.has(column) &&
      !isReason(column, result.metrics) &&
      valuesOf(result.rows, column).size > (TELLING_APART.has(column) ? 1 : 0),
  );
  return [...result.columns.filter((column) => scores.has(column)), ...content];
}

/** The column that says why a metric scored as it did: its name is the metric's and the word. */
export function isReason(column: string, metrics: readonly Metric[]): boolean {
  return metrics.some(({ name }) => column.startsWith(name) && /^[\W_]?reason$/.test(column.slice(name.length)));
}

/** The different texts in a column; empty cells are none. */
function valuesOf(rows: readonly Row[], column: string): Set<string> {
  return new Set(rows.map((row) => textOf(row[column])).filter((text) => text !== ""));
}

/** Returns the rows whose text holds every word of the filter, in the order of the sorting. */
export function arranged(rows: readonly Row[], filter: string, sorting: Sorting | undefined): Row[] {
  const words = filter.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const kept = rows.filter((row) => {
    const text = Object.values(row).map(textOf).join("\n").toLowerCase();
    return words.every((word) => text.includes(word));
  });
  if (sorting === undefined) {
    return kept;
  }
  const sign = sorting.ascending ? 1 : -1;
  return kept.sort((one, other) => {
    const left = one[sorting.column];
    const right = other[sorting.column];
    // Empty cells stand last, whichever way.
    const emptiness = Number(textOf(left) === "") - Number(textOf(right) === "");
    return emptiness === 0 ? sign * compare(left, right) : emptiness;
  });
}

function compare(left: unknown, right: unknown): number {
  const leftNumber = numberOf(left);
  const rightNumber = numberOf(right);
  return leftNumber !== undefined && rightNumber !== undefined
    ? leftNumber - rightNumber
    : textOf(left).localeCompare(textOf(right), undefined, { numeric: true });
}

/** The number that a cell holds, as a number or as CSV text. */
export function numberOf(value: unknown): number | undefined {
  if (typeof value === "number") {
    return value;
  }
  if (typeof value !== "string" || value.trim() === "" || value.length > LONGEST_NUMBER) {
    return undefined;
  }
  const number = Number(value);
  return Number.isFinite(number) ? number : undefined;
}

export function textOf(value: unknown): string {
  if (value === null || value === undefined) {
    return "";
  }
  return typeof value === "object" ? JSON.stringify(value, null, 1) : String(value as string | number | boolean);
}

export type Verdict = "pass" | "fail" | "between" | "none";

/** What a score says at a glance. */
export function verdictOf(value: unknown): Verdict {
  const text = textOf(value).trim().toLowerCase();
  if (["pass", "passed", "true", "yes", "correct"].includes(text)) {
    return "pass";
  }
  if (["fail", "failed", "false", "no", "incorrect"].includes(text)) {
    return "fail";
  }
  const number = numberOf(value);
  if (number === undefined || number < 0 || number > 1) {
    return "none";
  }
  return number === 1 ? "pass" : number === 0 ? "fail" : "between";
}

/** The difference to the run before, in words, for a metric whose values are numbers. */
export function change(metric: Metric, previous: readonly Metric[]): { text: string; better: boolean | null } | undefined {
  const before = previous.find(({ name }) => name === metric.name);
  if (before === undefined || before.value === null || metric.value === null) {
    return undefined;
  }
  const difference = metric.value - before.value;
  if (difference === 0) {
    return { text: `as before (${before.text})`, better: null };
  }
  const size = Math.abs(difference);
  const fraction = [metric.value, before.value].every((value) => value >= 0 && value <= 1);
  const amount = fraction ? `${(100 * size).toFixed(1).replace(/\.0$/, "")} points` : size.toPrecision(3);
  return { text: `${difference > 0 ? "▲" : "▼"} ${amount} from ${before.text}`, better: difference > 0 };
}
