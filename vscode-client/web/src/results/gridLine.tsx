/** A row of the table: its checkbox, cells and marks. */

import { revealed } from "../shared/hidden";
import type { Row, Run } from "../wire/results";
import { isNumeric, shortScore, verdictOf } from "./columns";
import { current, notes, rowHeight, selected, toggleSelected } from "./store";

/** The number of characters of a cell that can be visible. */
const MAX_CHARACTERS = 300;

interface LineProperties {
  at: number;
  row: Row | undefined;
  run: Run;
  names: readonly string[];
  template: string;
  isActive: boolean;
  onChoose: (row: Row) => void;
}

export function Line({ at, row, run, names, template, isActive, onChoose }: LineProperties) {
  const isShown = row !== undefined && row.place === current.value;
  const isSelected = row !== undefined && selected.value.has(row.place);
  const note = row === undefined ? undefined : notes.value[String(row.place)];
  const failed = row !== undefined && (row.cells.error ?? "") !== "";
  return (
    <div
      id={`row-${at}`}
      role="row"
      aria-rowindex={at + 2}
      aria-selected={isSelected}
      class={`line${isActive ? " active" : ""}${isShown ? " shown" : ""}${failed ? " failed" : ""}`}
      style={{ gridTemplateColumns: template, top: `${at * rowHeight.value}px` }}
      onClick={() => {
        if (row !== undefined && document.getSelection()?.isCollapsed !== false) {
          onChoose(row);
        }
      }}
    >
      {row === undefined ? (
        <span role="gridcell" aria-busy="true" class="fetching" aria-label="is being fetched" />
      ) : (
        <>
          <span role="gridcell" class="check">
            <input
              type="checkbox"
              tabIndex={-1}
              checked={isSelected}
              aria-label={`Select row ${row.cells.id ?? row.place + 1}`}
              onClick={(event) => event.stopPropagation()}
              onChange={() => toggleSelected(row.place)}
            />
          </span>
          {names.map((name) => (
            <Cell key={name} run={run} name={name} text={row.cells[name] ?? ""} />
          ))}
          <span role="gridcell" class="marks" title={note?.text}>
            {note === undefined ? "" : <Mark thumb={note.thumb} hasText={note.text !== ""} />}
          </span>
        </>
      )}
    </div>
  );
}

function Mark({ thumb, hasText }: { thumb: "up" | "down" | null; hasText: boolean }) {
  const label = [thumb === null ? "" : `thumb ${thumb}`, hasText ? "a note" : ""]
    .filter((each) => each !== "")
    .join(", ");
  return (
    <span role="img" aria-label={label} class={thumb ?? undefined}>
      {thumb === "up" ? "👍" : thumb === "down" ? "👎" : ""}
      {hasText ? "✎" : ""}
    </span>
  );
}

function Cell({ run, name, text }: { run: Run; name: string; text: string }) {
  const metric = run.metrics.find((each) => each.name === name);
  const short = revealed(text.slice(0, MAX_CHARACTERS)).shown;
  if (metric !== undefined) {
    return (
      <span
        role="gridcell"
        class={`verdict ${verdictOf(metric, text)}${metric.kind === "numeric" ? " right" : ""}`}
      >
        <bdi>{shortScore(short)}</bdi>
      </span>
    );
  }
  return (
    <span
      role="gridcell"
      class={
        isNumeric(name, run) ? "right number" : name === "error" || name === "problem" ? "bad" : undefined
      }
    >
      <bdi>{isNumeric(name, run) ? shortScore(short) : short}</bdi>
    </span>
  );
}
