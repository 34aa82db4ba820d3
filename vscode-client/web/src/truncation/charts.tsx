/** The charts of the lab: steps of a limit, turns of a chat, limits. */

import { Chart } from "../shared/chart";
import { grouped, percent } from "../shared/format";
import type { Cell, Lab } from "../wire/lab";
import { bestOf, cellAt, cellsOf, stepsOf } from "./lab";
import { attempt } from "./store";

export function Steps({ found, cell }: { found: Lab; cell: Cell }) {
  const cells = cellsOf(found, cell.limit);
  const best = bestOf(found, cell.limit)?.step;
  return (
    <Chart
      title={`Steps under a limit of ${grouped(cell.limit)}`}
      summary={`For each step, the share of the prompts that is read from the cache and the share that is kept.${best == null ? "" : ` The best step is ${best}.`}`}
      axis="step"
      places={cells.map(({ step }) => step)}
      range={[0, 1]}
      series={[
        {
          label: "read from the cache",
          color: "--vscode-charts-blue",
          values: cells.map(({ cacheRate }) => cacheRate),
          format: percent,
        },
        {
          label: "kept of what fits",
          color: "--vscode-charts-green",
          values: cells.map(({ keptRate }) => keptRate),
          format: percent,
        },
      ]}
      tableOnly={[
        {
          label: "lost needlessly",
          color: "",
          values: cells.map(({ needless }) => needless),
          format: grouped,
        },
        { label: "cache restarts", color: "", values: cells.map(({ breaks }) => breaks), format: grouped },
      ]}
      chosen={cell.step}
      onChoose={(step) => attempt({ step })}
      noteOf={(step) => (step === best ? "best" : step === found.step ? "now" : "")}
    />
  );
}

export function Turns({ found, cell }: { found: Lab; cell: Cell }) {
  const { tokens, cached, lost } = cell.turns;
  const whole = tokens.map((kept, turn) => kept + (lost[turn] ?? 0));
  return (
    <Chart
      title={`Turn by turn, with a step of ${grouped(cell.step)}`}
      summary={`For each of ${tokens.length} turns, the tokens that are read from the cache, new, and removed.`}
      axis="turn"
      places={tokens.map((_, turn) => turn + 1)}
      series={[
        { label: "removed", color: "--chart-removed", values: whole, format: grouped, bars: true },
        { label: "new", color: "--vscode-charts-yellow", values: tokens, format: grouped, bars: true },
        {
          label: "read from the cache",
          color: "--vscode-charts-blue",
          values: cached,
          format: grouped,
          bars: true,
        },
        {
          label: "limit",
          color: "--muted",
          values: tokens.map(() => cell.limit),
          format: grouped,
          dashed: true,
        },
      ].map((each) =>
        // The bars are stacked: tooltips show their individual values.
        each.label === "removed"
          ? { ...each, shown: lost }
          : each.label === "new"
            ? { ...each, shown: tokens.map((kept, turn) => kept - (cached[turn] ?? 0)) }
            : each,
      )}
    >
      {found.chats.length > 1 ? (
        <p class="hint">
          Of <bdi>{found.chats[0]?.name}</bdi>.
        </p>
      ) : null}
      {cell.failures.map((message) => (
        <p class="hint warn" key={message}>
          {message}
        </p>
      ))}
    </Chart>
  );
}

export function Limits({ found, cell }: { found: Lab; cell: Cell }) {
  const cells = found.limits.map((limit) =>
    cellAt(found, { limit, step: bestOf(found, limit)?.step ?? stepsOf(found, limit)[0] ?? 1 }),
  );
  return (
    <Chart
      title="Limits, each with its best step"
      summary="For each limit with its best step, the share of the prompts that is read from the cache and the share that is kept."
      axis="limit"
      places={found.limits}
      range={[0, 1]}
      series={[
        {
          label: "read from the cache",
          color: "--vscode-charts-blue",
          values: cells.map((each) => each?.cacheRate ?? null),
          format: percent,
        },
        {
          label: "kept of what fits",
          color: "--vscode-charts-green",
          values: cells.map((each) => each?.keptRate ?? null),
          format: percent,
        },
      ]}
      tableOnly={[
        {
          label: "best step",
          color: "",
          values: found.limits.map((limit) => bestOf(found, limit)?.step ?? null),
          format: grouped,
        },
      ]}
      chosen={cell.limit}
      onChoose={(limit) => attempt({ limit })}
      noteOf={(limit) => (limit === found.limit ? "now" : "")}
    />
  );
}
