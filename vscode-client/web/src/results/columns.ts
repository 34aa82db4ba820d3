/** Which columns of a run's table are shown, and how cells are summarized. */

import type { Cells, Metric, Run } from "../wire/results";

/** Columns about the call rather than its content: shown in a row's details, and in the table if selected. */
const ASIDE = new Set([
  "cached",
  "cached_input_tokens",
  "cost",
  "experiment_name",
  "finish_reason",
  "input_tokens",
  "output_tokens",
  "reasoning_tokens",
  "rendered_hash",
  "repeat",
  "row_number",
  "seconds",
]);

/** Numeric columns about the call. */
const NUMBERS = new Set([
  "cached_input_tokens",
  "cost",
  "input_tokens",
  "output_tokens",
  "reasoning_tokens",
  "repeat",
  "row_number",
  "seconds",
]);

/** Returns the default columns of the table: id, scores, answer, then the rest. */
export function usualColumns(run: Run): string[] {
  const scores = run.metrics.map(({ name }) => name).filter((name) => run.columns.includes(name));
  const rest = run.columns.filter(
    (column) =>
      column !== "id" &&
      column !== "response" &&
      !scores.includes(column) &&
      !ASIDE.has(column) &&
      !isReason(column, run.metrics) &&
      column !== "answer_note" && // Present only if labels are compared; shown in a row's details.
      !(column === "model" && run.models.length < 2) &&
      !(column === "error" && run.failed === 0) &&
      !(column === "problem" && run.invalid === 0),
  );
  const those = (name: string): string[] => run.columns.filter((column) => column === name);
  return [...those("id"), ...scores, ...those("response"), ...rest];
}

/** Returns whether a column has the reasons of a metric: its name is the metric's with a suffix. */
export function isReason(column: string, metrics: readonly Metric[]): boolean {
  return metrics.some(({ name }) => column === `${name}_reason`);
}

/** Returns whether a column is displayed as numbers. */
export function isNumeric(column: string, run: Run): boolean {
  return NUMBERS.has(column) || run.metrics.some(({ name, kind }) => name === column && kind === "numeric");
}

export type Verdict = "pass" | "fail" | "between" | "none";

/** Returns whether a score is good. */
export function verdictOf(metric: Metric, cell: string): Verdict {
  if (cell === "") {
    return "none";
  }
  if (metric.good !== null) {
    return cell === metric.good ? "pass" : "fail";
  }
  return "between";
}

/** Formats a score: numbers with at most four digits. */
export function shortScore(cell: string): string {
  const number = Number(cell);
  return cell === ""
    ? "–"
    : Number.isNaN(number)
      ? cell
      : String(Number.isInteger(number) ? number : Number(number.toPrecision(4)));
}

/** Returns the fields of a row that its other views do not show: inputs and properties of the call. */
export function inputsOf(run: Run, cells: Cells): [string, string][] {
  const own = new Set([
    "response",
    "error",
    "problem",
    ...ASIDE,
    "model",
    ...run.metrics.map(({ name }) => name),
  ]);
  return run.columns.flatMap((column) => {
    const cell = cells[column] ?? "";
    return own.has(column) || isReason(column, run.metrics) || cell === ""
      ? []
      : [[column, cell] as [string, string]];
  });
}

/** Returns the minimum width of a column in pixels, and its share of the remaining width. */
export function widthOf(name: string, run: Run): [number, number] {
  if (name === "id") {
    return [64, 0.4];
  }
  if (run.metrics.some((metric) => metric.name === name)) {
    return [Math.max(90, Math.min(180, 28 + 7 * name.length)), 0.6];
  }
  return isNumeric(name, run) ? [86, 0.4] : [160, 2];
}
