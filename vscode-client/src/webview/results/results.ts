/** The page of the results panel. */

import type { ResultsResult } from "../../protocol";
import type { FromPage, ToPage } from "../../results/messages";
import { button, count, element, replaceKeepingPlace } from "./dom";
import { connect } from "../shared/host";
import { arranged, change, numberOf, type Row, shownColumns, type Sorting, textOf, verdictOf } from "./table";

const root = document.getElementById("root") as HTMLElement;
const host = connect<ToPage, FromPage>((message) => {
  if (message.type === "show") {
    show(message.result);
  } else {
    fail(message.message);
  }
});
const body = element("tbody", {});
const shown = element("span", { id: "shown", class: "muted", role: "status" });
let result: ResultsResult | undefined;
let sorting: Sorting | undefined;
let filter = "";
/** Numbers of the rows whose details stand open. */
let opened = new Set<number>();

/** A text of more characters gets a wide column. */
const LONG = 40;

host.post({ type: "ready" });

function fail(message: string): void {
  replaceKeepingPlace(root, element("div", { class: "failure lonely", role: "alert" }, element("p", {}, message)));
}

function show(next: ResultsResult): void {
  if (result?.run !== next.run) {
    opened = new Set();
  }
  result = next;
  draw();
}

function draw(): void {
  if (result === undefined) {
    return;
  }
  const current = result;
  const columns = shownColumns(current);
  replaceKeepingPlace(
    root,
    element("header", { class: "top" }, title(current), scores(current), comparison(current)),
    toolbar(current),
    element(
      "div",
      { class: "scroller" },
      element("table", { "aria-label": "Rows of the run" }, head(columns, current), body),
    ),
  );
  drawRows();
}

function title(current: ResultsResult): HTMLElement {
  const failed = current.rows.filter((row) => textOf(row["error"]) !== "").length;
  return element(
    "div",
    { class: "title" },
    element("h1", {}, current.name),
    element("span", { class: "muted" }, count(current.rows.length, "row")),
    failed === 0 ? undefined : element("span", { class: "badge bad" }, `${failed} failed`),
    current.stale
      ? element("span", { class: "badge stale", title: "The prompt changed after this run" }, "stale")
      : undefined,
    element("span", { class: "spacer" }),
    button("Run again", { id: "run-again" }, () => {
      host.post({ type: "runAgain" });
    }),
    button("Open CSV", { id: "open-run", title: current.run }, () => {
      host.post({ type: "openRun" });
    }),
  );
}

function scores(current: ResultsResult): HTMLElement {
  return element(
    "dl",
    { class: "metrics", "aria-label": "Scores" },
    ...current.metrics.map((metric) => {
      const changed = change(metric, current.previous?.metrics ?? []);
      const direction = changed?.better === true ? "good" : changed?.better === false ? "bad" : "muted";
      const bar = element("div", { class: "score-bar", "aria-hidden": "true" });
      if (metric.value !== null && metric.value >= 0 && metric.value <= 1) {
        const fill = element("div", {});
        fill.style.width = `${100 * metric.value}%`;
        bar.append(fill);
      }
      return element(
        "div",
        { class: "metric" },
        element("dt", {}, metric.name),
        element("dd", { class: "value" }, metric.text),
        element("dd", { class: `change ${direction}` }, changed?.text ?? ""),
        bar,
      );
    }),
  );
}

function comparison(current: ResultsResult): HTMLElement | undefined {
  const sentences = current.comparison?.sentences ?? [];
  if (sentences.length === 0) {
    return undefined;
  }
  return element(
    "section",
    { class: "comparison", "aria-label": "Comparison with the run before" },
    element("h2", {}, current.previous === null ? "Comparison" : `Against ${current.previous.name}`),
    element("ul", {}, ...sentences.map((sentence) => element("li", {}, sentence))),
  );
}

function toolbar(current: ResultsResult): HTMLElement {
  const input = element("input", {
    id: "filter",
    type: "search",
    placeholder: "Filter rows",
    "aria-label": "Filter rows",
    value: filter,
  });
  input.addEventListener("input", () => {
    filter = input.value;
    drawRows();
  });
  return element(
    "div",
    { class: "toolbar" },
    input,
    shown,
    element("span", { class: "spacer" }),
    button("Copy as JSON", { id: "copy-rows", class: "quiet" }, () => {
      host.post({
        type: "copy",
        text: JSON.stringify(arranged(current.rows, filter, sorting), null, 2),
        what: "the rows shown",
      });
    }),
  );
}

function head(columns: readonly string[], current: ResultsResult): HTMLElement {
  return element(
    "thead",
    {},
    element(
      "tr",
      {},
      element("th", { class: "opener" }, element("span", { class: "hidden" }, "Details")),
      ...columns.map((column, index) => {
        const isSorted = sorting?.column === column;
        const direction = isSorted ? (sorting?.ascending === true ? "ascending" : "descending") : "none";
        const mark = isSorted ? (direction === "ascending" ? " ↑" : " ↓") : "";
        return element(
          "th",
          { scope: "col", "aria-sort": direction, class: isNumeric(column, current) ? "numeric" : undefined },
          sortButton(column, mark, index),
        );
      }),
    ),
  );
}

/** The long name of a metric may break after each underscore. */
function sortButton(column: string, mark: string, index: number): HTMLElement {
  const made = button("", { id: `sort-${index}`, class: "sort" }, () => {
    sortBy(column);
  });
  for (const [place, word] of column.split("_").entries()) {
    made.append(...(place === 0 ? [word] : ["_", element("wbr", {}), word]));
  }
  made.append(mark);
  return made;
}

/** Ascending, then descending, then the order of the dataset again. */
function sortBy(column: string): void {
  if (sorting?.column !== column) {
    sorting = { column, ascending: true };
  } else {
    sorting = sorting.ascending ? { column, ascending: false } : undefined;
  }
  draw();
}

function drawRows(): void {
  if (result === undefined) {
    return;
  }
  const current = result;
  const columns = shownColumns(current);
  const rows = arranged(current.rows, filter, sorting);
  shown.textContent = rows.length === current.rows.length ? "" : `${rows.length} of ${current.rows.length}`;
  replaceKeepingPlace(
    body,
    ...rows.flatMap((row) => {
      const number = current.rows.indexOf(row);
      return opened.has(number) ? [tableRow(row, number, columns), details(row, number, columns)] : [tableRow(row, number, columns)];
    }),
  );
}

function tableRow(row: Row, number: number, columns: readonly string[]): HTMLElement {
  const isOpen = opened.has(number);
  const opener = button(
    isOpen ? "▾" : "▸",
    {
      id: `open-${number}`,
      class: "quiet",
      "aria-expanded": String(isOpen),
      "aria-label": `Details of row ${number + 1}`,
    },
    (event) => {
      event.stopPropagation();
      toggle(number);
    },
  );
  const made = element(
    "tr",
    { class: textOf(row["error"]) === "" ? "row" : "row failed" },
    element("td", { class: "opener" }, opener),
    ...columns.map((column) => cell(row, column)),
  );
  made.addEventListener("click", () => {
    if (document.getSelection()?.isCollapsed !== false) {
      toggle(number);
    }
  });
  return made;
}

function toggle(number: number): void {
  if (!opened.delete(number)) {
    opened.add(number);
  }
  drawRows();
}

function cell(row: Row, column: string): HTMLElement {
  const value = row[column];
  if (result?.metrics.some(({ name }) => name === column) === true) {
    const verdict = verdictOf(value);
    return element("td", { class: "score" }, element("span", { class: `verdict ${verdict}` }, scoreText(value)));
  }
  if (numberOf(value) !== undefined) {
    return element("td", { class: "numeric" }, shortNumber(value));
  }
  const text = textOf(value);
  return element("td", {}, element("div", { class: text.length > LONG ? "clamped long" : "clamped" }, text));
}

function scoreText(value: unknown): string {
  return textOf(value) === "" ? "–" : shortNumber(value);
}

function shortNumber(value: unknown): string {
  const number = numberOf(value);
  return number === undefined || Number.isInteger(number) ? textOf(value) : String(Number(number.toPrecision(4)));
}

function isNumeric(column: string, { rows, metrics }: ResultsResult): boolean {
  return (
    rows.length > 0 &&
    !metrics.some(({ name }) => name === column) &&
    rows.every((row) => textOf(row[column]) === "" || numberOf(row[column]) !== undefined)
  );
}

/** Everything that the row holds: what the table shows shortened, reasons, and what it leaves out. */
function details(row: Row, number: number, columns: readonly string[]): HTMLElement {
  const fields = Object.entries(row).filter(([, value]) => textOf(value) !== "");
  return element(
    "tr",
    { class: "details" },
    element(
      "td",
      { colspan: String(columns.length + 1) },
      element(
        "dl",
        { id: `details-${number}` },
        ...fields.map(([name, value]) =>
          element(
            "div",
            { class: textOf(value).length > LONG ? "wide" : undefined },
            element("dt", {}, name),
            element("dd", {}, element("pre", {}, textOf(value))),
          ),
        ),
      ),
    ),
  );
}
