/** Runs side by side: the significance of differences, and the rows that differ. */

import { useState } from "preact/hooks";

import { Choice } from "../shared/choice";
import { count, grouped } from "../shared/format";
import { Scrolled } from "../shared/scrolled";
import type { MetricComparison, Run, RunComparison } from "../wire/results";
import { formatDifference, formatScore, moment } from "./formatScores";
import { Pairs } from "./pairs";
import { AgainstPicker, hasOthers } from "./runPicker";
import { Scatter } from "./scatter";
import { broken } from "./scoreCard";
import { source, view } from "./store";

export function Compare({ run }: { run: Run }) {
  const shown = view.value;
  const all = shown?.comparisons ?? [];
  const [chosen, setChosen] = useState<string>();
  const found = all.find((each) => each.run === (chosen ?? run.path)) ?? all.at(-1);
  const first = shown?.runs[0];
  return (
    <div class="compare">
      <div class="against">
        {source.value?.live === undefined ? null : (
          <>
            <span class="muted">Compared with</span>
            <AgainstPicker />
          </>
        )}
        {all.length > 1 && found !== undefined ? (
          <Choice
            label="Which run"
            names={all.map(labelOf)}
            current={labelOf(found)}
            onChoose={(name) => setChosen(all.find((each) => labelOf(each) === name)?.run)}
          />
        ) : null}
      </div>
      {shown?.complete === false && shown.runs.length > 1 ? (
        <p class="hint" role="status">
          Comparing {grouped(run.rows)} rows …
        </p>
      ) : found === undefined || first === undefined ? (
        <Alone run={run} />
      ) : (
        <>
          {all.length > 1 ? <AllRuns comparisons={all} /> : null}
          <One key={found.run} found={found} />
          <Pairs
            key={found.run}
            before={first}
            after={shown?.runs.find(({ path }) => path === found.run) ?? run}
            names={[found.beforeName, found.afterName]}
          />
        </>
      )}
    </div>
  );
}

/** No run is compared with this one. */
function Alone({ run }: { run: Run }) {
  const live = source.value?.live;
  return hasOthers() ? (
    <p class="empty">There is no run to compare with. Choose one above; it may be of another prompt.</p>
  ) : (
    <div class="alone">
      <p class="empty">This is the only run. Change the prompt and run it again to compare both here.</p>
      {live === undefined ? null : (
        <button type="button" onClick={() => live.runAgain(run.prompt, { experiment: run.experiment })}>
          Run again
        </button>
      )}
    </div>
  );
}

/** Returns the name of a run, with its time if another run has the same name. */
function labelOf(each: RunComparison): string {
  const shown = view.value;
  const isAlone =
    shown?.comparisons.every((other) => other === each || other.afterName !== each.afterName) ?? true;
  const started = shown?.runs.find(({ path }) => path === each.run)?.started;
  return isAlone || started === undefined ? each.afterName : `${each.afterName}, ${moment(started)}`;
}

function One({ found }: { found: RunComparison }) {
  const [metric, setMetric] = useState(found.metrics[0]?.name);
  const drawn = found.metrics.find(({ name }) => name === metric) ?? found.metrics[0];
  if (found.problem !== null) {
    return <p class="empty">{found.problem}</p>;
  }
  return (
    <>
      <p class="names">
        <bdi>{found.beforeName}</bdi> → <bdi>{found.afterName}</bdi>
        <span class="muted">
          {", "}
          {count(found.pairs, "row")} in both; scores that got better {grouped(found.better)}, worse{" "}
          {grouped(found.worse)}
        </span>
      </p>
      <ul class="differences" aria-label="Differences">
        {found.metrics.map((each) => (
          <Difference key={each.name} metric={each} />
        ))}
      </ul>
      {found.notes.map((note) => (
        <p class="hint said" key={note}>
          {note}
        </p>
      ))}
      {drawn === undefined ? null : (
        <section class="scatter-section" aria-labelledby="row-by-row">
          <div class="chart-head">
            <h2 id="row-by-row">Row by row</h2>
            <span class="spacer" />
            {found.metrics.length < 2 ? null : (
              <select
                aria-label="Metric"
                value={drawn.name}
                onChange={(event) => setMetric(event.currentTarget.value)}
              >
                {found.metrics.map(({ name }) => (
                  <option key={name}>{name}</option>
                ))}
              </select>
            )}
          </div>
          <Scatter metric={drawn} names={[found.beforeName, found.afterName]} />
        </section>
      )}
    </>
  );
}

function Difference({ metric }: { metric: MetricComparison }) {
  const { name, kind, verdict, message, before, after, difference, low, high } = metric;
  const reach = Math.max(Math.abs(low), Math.abs(high), Math.abs(difference), 1e-9) * 1.1;
  const place = (value: number): string => `${(50 + (50 * value) / reach).toFixed(2)}%`;
  return (
    <li class={`difference-card ${verdict}`}>
      <div class="difference-head">
        <bdi class="metric-name">{broken(name)}</bdi>
        <span class="spacer" />
        <span class={`badge ${verdict}`}>{verdict}</span>
      </div>
      <p class="from-to number">
        {formatScore(kind, before)} → <strong>{formatScore(kind, after)}</strong>{" "}
        <span class={verdict}>{formatDifference(kind, difference)}</span>
      </p>
      <div class="interval zero" aria-hidden="true">
        <i class="reach" style={{ left: place(low), width: `calc(${place(high)} - ${place(low)})` }} />
        <i class="dot" style={{ left: place(difference) }} />
      </div>
      <p class="aside">
        <bdi>{message}</bdi>
      </p>
    </li>
  );
}

/** Several runs at a glance, each compared with the first. */
function AllRuns({ comparisons }: { comparisons: readonly RunComparison[] }) {
  const metrics = [...new Set(comparisons.flatMap((each) => each.metrics.map(({ name }) => name)))];
  return (
    <Scrolled label="All runs against the first">
      <table aria-label="All runs against the first">
        <thead>
          <tr>
            <th scope="col">run</th>
            {metrics.map((name) => (
              <th scope="col" key={name}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {comparisons.map((each) => (
            <tr key={each.run}>
              <th scope="row">
                <bdi>{labelOf(each)}</bdi>
              </th>
              {metrics.map((name) => {
                const metric = each.metrics.find((its) => its.name === name);
                return (
                  <td key={name} class={metric?.verdict} title={metric?.message}>
                    {metric === undefined
                      ? "–"
                      : `${formatScore(metric.kind, metric.after)} (${formatDifference(metric.kind, metric.difference)})`}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolled>
  );
}
