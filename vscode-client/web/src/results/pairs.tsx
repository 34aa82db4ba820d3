/** The rows of two runs side by side, differing ones first. */

import { useEffect, useState } from "preact/hooks";

import { Choice } from "../shared/choice";
import { count } from "../shared/format";
import type { PairedRow, Run } from "../wire/results";
import { Pair } from "./pair";
import { useIntersection } from "./useIntersection";
import { usePages } from "./usePages";

/** The number of rows of a page. */
const PAIRS = 25;
const WHICH = ["Differing", "All"] as const;
/** The height in pixels of a row that has not been measured. */
const USUAL = 110;

interface Properties {
  before: Run;
  after: Run;
  names: [string, string];
}

export function Pairs({ before, after, names }: Properties) {
  const [which, setWhich] = useState<(typeof WHICH)[number]>("Differing");
  const differing = which === "Differing";
  const { total, failure, page, need } = usePages<PairedRow>(
    JSON.stringify([before.path, after.path, differing]),
    PAIRS,
    (from, start, rows) => from.pairs(before.path, after.path, differing, start, rows),
  );
  return (
    <section aria-labelledby="side-by-side">
      <div class="chart-head">
        <h2 id="side-by-side">Side by side</h2>
        <span class="muted number">{total === undefined ? "" : count(total, "row")}</span>
        <span class="spacer" />
        <Choice label="Which rows" names={WHICH} current={which} onChoose={setWhich} />
      </div>
      {failure === "" ? null : (
        <p class="failure" role="alert">
          {failure}
        </p>
      )}
      {total === undefined && failure === "" ? (
        <p class="hint" role="status">
          Reading the rows …
        </p>
      ) : null}
      {total === 0 && failure === "" ? (
        <p class="empty">Every row has the same response and scores in both runs.</p>
      ) : null}
      {(total ?? 0) === 0 ? null : (
        <div class="sides sides-head" aria-hidden="true">
          <bdi>{names[0]}</bdi>
          <bdi>{names[1]}</bdi>
        </div>
      )}
      <div class="pairs" role="list" aria-label="Rows side by side">
        {Array.from({ length: Math.ceil((total ?? 0) / PAIRS) }, (_, number) => (
          <Block
            key={`${which} ${number}`}
            number={number}
            rows={Math.min(PAIRS, (total ?? 0) - number * PAIRS)}
            found={page(number)}
            need={need}
            runs={[before, after]}
            names={names}
          />
        ))}
      </div>
    </section>
  );
}

interface BlockProperties {
  number: number;
  rows: number;
  found: readonly PairedRow[] | undefined;
  need: (number: number) => void;
  runs: [Run, Run];
  names: [string, string];
}

/** A page of rows: rendered while visible, else a gap of the same height. */
function Block({ number, rows, found, need, runs, names }: BlockProperties) {
  const { holder, isInSight, height } = useIntersection(number === 0);
  useEffect(() => {
    if (isInSight && found === undefined) {
      // Nothing is needed while the reader only scrolls past.
      const timer = setTimeout(() => need(number), 60);
      return () => clearTimeout(timer);
    }
    return undefined;
  }, [isInSight, found]);
  const isShown = isInSight && found !== undefined;
  return (
    <div
      ref={holder}
      role="presentation"
      style={isShown ? undefined : { height: `${height ?? rows * USUAL}px` }}
    >
      {isShown
        ? found.map((pair, at) => (
            <Pair key={at} place={number * PAIRS + at} {...pair} runs={runs} names={names} />
          ))
        : null}
    </div>
  );
}
