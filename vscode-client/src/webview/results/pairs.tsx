/** The rows of two runs side by side, those that differ first of all. */

import { useEffect, useMemo, useState } from "preact/hooks";

import type { Cells, PairsAnswer, Run } from "../../results/view";
import { Choice } from "../shared/choice";
import { count, grouped } from "../shared/format";
import { MarkedText } from "../shared/markedText";
import { Pieces } from "../shared/pieces";
import { aroundChanges, compareTexts } from "../shared/textDiff";
import { shortScore, verdictOf } from "./columns";
import { source } from "./store";

const STEP = 20;
const WHICH = ["Differing", "All"] as const;

interface Properties {
  before: Run;
  after: Run;
  names: [string, string];
}

export function Pairs({ before, after, names }: Properties) {
  const [which, setWhich] = useState<(typeof WHICH)[number]>("Differing");
  const [most, setMost] = useState(STEP);
  const [found, setFound] = useState<PairsAnswer>();
  const [failure, setFailure] = useState("");
  const from = source.value;
  useEffect(() => {
    let isLatest = true;
    from?.pairs(before.path, after.path, which === "Differing", 0, most).then(
      (answer) => {
        if (isLatest) {
          setFound(answer);
          setFailure("");
        }
      },
      (error: unknown) => {
        if (isLatest) {
          setFailure(error instanceof Error ? error.message : String(error));
        }
      },
    );
    return () => {
      isLatest = false;
    };
  }, [from, before.path, after.path, which, most]);
  return (
    <section aria-labelledby="side-by-side">
      <div class="chart-head">
        <h2 id="side-by-side">Side by side</h2>
        <span class="muted number">{found === undefined ? "" : count(found.total, "row")}</span>
        <span class="spacer" />
        <Choice
          label="Which rows"
          names={WHICH}
          current={which}
          onChoose={(name) => {
            setMost(STEP);
            setWhich(name);
          }}
        />
      </div>
      {failure === "" ? null : <p class="failure">{failure}</p>}
      {found?.total === 0 ? <p class="empty">Every row has the same response and scores in both runs.</p> : null}
      <ol class="pairs">
        {(found?.rows ?? []).map((pair, at) => (
          <Pair key={at} {...pair} runs={[before, after]} names={names} />
        ))}
      </ol>
      {found !== undefined && found.total > found.rows.length ? (
        <button
          type="button"
          class="more"
          onClick={() => {
            setMost(Math.min(most + 5 * STEP, 1000));
          }}
        >
          Show more of {grouped(found.total)}
        </button>
      ) : null}
    </section>
  );
}

interface PairProperties {
  before: Cells | null;
  after: Cells | null;
  runs: [Run, Run];
  names: [string, string];
}

function Pair({ before, after, runs, names }: PairProperties) {
  const cells = after ?? before ?? {};
  const metrics = runs[1].metrics.filter(({ name }) => runs[0].metrics.some((other) => other.name === name));
  return (
    <li class="pair">
      <div class="pair-head">
        <bdi class="name">{cells["id"]}</bdi>
        {runs[1].models.length > 1 ? <bdi class="badge">{cells["model"]}</bdi> : null}
        {metrics.map((metric) => {
          const [old, next] = [before?.[metric.name] ?? "", after?.[metric.name] ?? ""];
          return (
            <span key={metric.name} class={old === next ? "pair-score muted" : "pair-score"} title={metric.name}>
              <bdi class="muted">{metric.name}</bdi> <span class={`verdict ${verdictOf(metric, old)}`}>{shortScore(old)}</span>
              {old === next ? null : (
                <>
                  {" → "}
                  <span class={`verdict ${verdictOf(metric, next)}`}>{shortScore(next)}</span>
                </>
              )}
            </span>
          );
        })}
      </div>
      {before === null || after === null ? (
        <p class="empty">
          Only in <bdi>{before === null ? names[1] : names[0]}</bdi>.
        </p>
      ) : (
        <Responses before={textOf(before)} after={textOf(after)} names={names} />
      )}
    </li>
  );
}

function textOf(cells: Cells): string {
  return (cells["error"] ?? "") === "" ? (cells["response"] ?? "") : `Error: ${cells["error"]}`;
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
  // Each side shows its own words, and marks those that the other does not have.
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
