/** The summary of the run: scores, totals, distributions and their history. */

import { count, grouped, money } from "../shared/format";
import { Scrolled } from "../shared/scrolled";
import type { Metric, Run } from "../wire/results";
import { Bars } from "./bars";
import { chosenRows, duration, moment } from "./formatScores";
import { History } from "./history";
import { ScoreCard } from "./scoreCard";
import { comparison, notes, page, showRows, view } from "./store";

export function Overview({ run }: { run: Run }) {
  return (
    <div class="overview">
      {run.leftOut.map((note) => (
        <p class="hint" key={note}>
          {note}
        </p>
      ))}
      {run.notesProblem === null ? null : <p class="hint warn">{run.notesProblem}</p>}
      {run.cached === 0 ? null : (
        <p class="hint" id="cached">
          {run.cached >= run.rows ? "All answers" : `${grouped(run.cached)} of ${count(run.rows, "answer")}`}{" "}
          {run.cached === 1 && run.rows > 1 ? "was" : "were"} known from earlier runs.
        </p>
      )}
      <ul class="cards" aria-label="Scores">
        {run.metrics.map((metric) => (
          <ScoreCard key={metric.name} metric={metric} />
        ))}
      </ul>
      {view.value?.complete === false ? (
        <p class="hint" role="status">
          Reading {count(run.rows, "row")} for intervals
          {view.value.runs.length > 1 ? " and the comparison" : ""} …
        </p>
      ) : null}
      {run.metrics.length === 0 ? <p class="empty">The experiment has no metrics.</p> : null}
      <Verdicts />
      <Totals run={run} />
      <ByModel run={run} />
      <Distributions metrics={run.metrics} />
      <History run={run} />
    </div>
  );
}

/** The comparison with the previous run, in sentences. */
function Verdicts() {
  const found = comparison.value;
  if (found === undefined) {
    return null;
  }
  return (
    <section class="verdicts" aria-labelledby="verdicts">
      <div class="chart-head">
        <h2 id="verdicts">
          Compared with <bdi>{found.beforeName}</bdi>
        </h2>
        <span class="spacer" />
        <button
          type="button"
          onClick={() => {
            page.value = "Compare";
          }}
        >
          Side by side
        </button>
      </div>
      {found.problem === null ? (
        <ul>
          {found.metrics.map(({ name, message, verdict }) => (
            <li key={name} class={verdict}>
              <bdi class="metric-name">{name}</bdi> {message}
            </li>
          ))}
        </ul>
      ) : (
        <p class="empty">{found.problem}</p>
      )}
      {found.notes.map((note) => (
        <p class="hint" key={note}>
          {note}
        </p>
      ))}
    </section>
  );
}

function Totals({ run }: { run: Run }) {
  const thumbs = Object.values(notes.value);
  const up = thumbs.filter(({ thumb }) => thumb === "up").length;
  const down = thumbs.filter(({ thumb }) => thumb === "down").length;
  const figures: [string, string][] = [
    ["rows", grouped(run.rows)],
    ["failed", grouped(run.failed)],
    ...(run.invalid > 0 ? [["in the wrong format", grouped(run.invalid)] as [string, string]] : []),
    ["tokens in", grouped(run.inputTokens)],
    ...(run.cachedInputTokens > 0
      ? [["in from the provider's cache", grouped(run.cachedInputTokens)] as [string, string]]
      : []),
    ["tokens out", grouped(run.outputTokens)],
    ...(run.reasoningTokens > 0 ? [["of reasoning", grouped(run.reasoningTokens)] as [string, string]] : []),
    ["cost", run.free ? "free" : run.cost === null ? "unknown" : money(run.cost)],
    ...(!run.free && run.paid !== null && run.paid !== run.cost
      ? [["paid by this run", money(run.paid)] as [string, string]]
      : []),
    ...(run.cached > 0 ? [["from the cache", grouped(run.cached)] as [string, string]] : []),
    ["time", duration(run.seconds)],
    ...(up + down > 0 ? [["thumbs up, down", `${up}, ${down}`] as [string, string]] : []),
  ];
  return (
    <section aria-labelledby="totals">
      <h2 id="totals">Totals</h2>
      <dl class="figures">
        {figures.map(([name, value]) => (
          <div key={name} class={name === "failed" && run.failed > 0 ? "bad" : undefined}>
            <dt>{name}</dt>
            <dd>
              {name === "failed" && run.failed > 0 ? (
                <button
                  type="button"
                  class="link"
                  aria-label={`Show the ${count(run.failed, "row")} that failed`}
                  onClick={() => showRows({ kind: "error" })}
                >
                  {value}
                </button>
              ) : (
                value
              )}
            </dd>
          </div>
        ))}
      </dl>
      <p class="hint">
        <bdi>{run.models.join(" + ")}</bdi>
        {run.dataset === null ? null : (
          <>
            {" over "}
            <bdi>{run.dataset}</bdi>
          </>
        )}
        {run.rowsChosen === null ? "" : `, ${chosenRows(run.rowsChosen)}`}, {moment(run.started)}
        {run.commit === null
          ? ""
          : `, commit ${run.commit.slice(0, 8)}${run.dirty === true ? " with changes" : ""}`}
      </p>
    </section>
  );
}

function ByModel({ run }: { run: Run }) {
  if (run.byModel.length === 0) {
    return null;
  }
  return (
    <section aria-labelledby="by-model">
      <h2 id="by-model">By model</h2>
      <Scrolled label="By model">
        <table aria-labelledby="by-model">
          <thead>
            <tr>
              <th scope="col">model</th>
              {run.metrics.map(({ name }) => (
                <th scope="col" key={name}>
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {run.byModel.map(({ model, scores }) => (
              <tr key={model}>
                <th scope="row">
                  <button type="button" class="link" onClick={() => showRows({ equal: { model } })}>
                    {model}
                  </button>
                </th>
                {run.metrics.map(({ name }) => (
                  <td key={name}>{scores[name] ?? "–"}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolled>
    </section>
  );
}

function Distributions({ metrics }: { metrics: readonly Metric[] }) {
  const drawn = metrics.filter(({ bars }) => bars.length > 0);
  return drawn.length === 0 ? null : (
    <section aria-labelledby="distribution">
      <h2 id="distribution">Distribution</h2>
      <div class="distributions">
        {drawn.map((metric) => (
          <Bars
            key={metric.name}
            metric={metric}
            onChoose={
              metric.kind === "discrete"
                ? (label) => showRows({ equal: { [metric.name]: label } })
                : undefined
            }
          />
        ))}
      </div>
    </section>
  );
}
