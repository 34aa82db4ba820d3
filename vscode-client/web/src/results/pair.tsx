/** One row of two runs: its scores and responses side by side. */

import { useMemo } from "preact/hooks";

import { BidiText } from "../shared/bidiText";
import { MarkedText } from "../shared/markedText";
import { Pieces } from "../shared/pieces";
import { aroundChanges, compareTexts } from "../shared/textDiff";
import type { Cells, Run } from "../wire/results";
import { inputsOf, shortScore, verdictOf } from "./columns";

interface Properties {
  /** The index among the displayed rows, from 0. */
  place: number;
  before: Cells | null;
  after: Cells | null;
  runs: [Run, Run];
  names: [string, string];
}

export function Pair({ place, before, after, runs, names }: Properties) {
  const cells = after ?? before ?? {};
  const metrics = runs[1].metrics.filter(({ name }) => runs[0].metrics.some((other) => other.name === name));
  return (
    <div class="pair" role="listitem" aria-posinset={place + 1}>
      <div class="pair-head">
        <span class="name">
          <BidiText text={cells.id ?? ""} />
        </span>
        {runs[1].models.length > 1 ? <bdi class="badge">{cells.model}</bdi> : null}
        {metrics.map((metric) => {
          const [old, next] = [before?.[metric.name] ?? "", after?.[metric.name] ?? ""];
          return (
            <span
              key={metric.name}
              class={old === next ? "pair-score muted" : "pair-score"}
              title={metric.name}
            >
              <bdi class="muted">{metric.name}</bdi>{" "}
              <span class={`verdict ${verdictOf(metric, old)}`}>
                <BidiText text={shortScore(old)} />
              </span>
              {old === next ? null : (
                <>
                  {" → "}
                  <span class={`verdict ${verdictOf(metric, next)}`}>
                    <BidiText text={shortScore(next)} />
                  </span>
                </>
              )}
            </span>
          );
        })}
      </div>
      <Inputs run={runs[1]} cells={cells} />
      {before === null || after === null ? (
        <p class="empty">
          Only in <bdi>{before === null ? names[1] : names[0]}</bdi>.
        </p>
      ) : (
        <Responses before={textOf(before)} after={textOf(after)} names={names} />
      )}
    </div>
  );
}

/** The content of the row: its inputs and expected answer. */
function Inputs({ run, cells }: { run: Run; cells: Cells }) {
  const found = inputsOf(run, cells).filter(([name]) => name !== "id");
  return found.length === 0 ? null : (
    <dl class="pair-inputs">
      {found.map(([name, value]) => (
        <div key={name}>
          <dt>
            <bdi>{name}</bdi>
          </dt>
          <dd title={value}>
            <BidiText text={value} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function textOf(cells: Cells): string {
  return (cells.error ?? "") === "" ? (cells.response ?? "") : `Error: ${cells.error}`;
}

function Responses({ before, after, names }: { before: string; after: string; names: [string, string] }) {
  const pieces = useMemo(() => compareTexts(before, after), [before, after]);
  if (before === after) {
    return (
      <pre class="box">
        <MarkedText text={after} />
      </pre>
    );
  }
  // Each side shows its own words, and marks those that the other side lacks.
  const side = (without: "added" | "removed") => aroundChanges(pieces.filter(({ kind }) => kind !== without));
  return (
    <div class="sides">
      <div class="box" aria-label={names[0]} role="group">
        <Pieces pieces={side("added")} />
      </div>
      <div class="box" aria-label={names[1]} role="group">
        <Pieces pieces={side("removed")} />
      </div>
    </div>
  );
}
