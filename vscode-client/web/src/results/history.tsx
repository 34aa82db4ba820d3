/** The scores of the experiment's runs over time. */

import { Chart, type Series } from "../shared/chart";
import type { HistoryRun, Run } from "../wire/results";
import { formatScore } from "./formatScores";
import { chooseRun, source, view } from "./store";

const COLORS = [
  "--vscode-charts-blue",
  "--vscode-charts-green",
  "--vscode-charts-purple",
  "--vscode-charts-yellow",
  "--vscode-charts-red",
];

export function History({ run }: { run: Run }) {
  // Partial runs, and runs over other data, are not comparable.
  const runs = (view.value?.history ?? []).filter(({ isComparable }) => isComparable);
  const shares = run.metrics.filter(({ kind }) => kind === "discrete");
  const numbers = run.metrics.filter(({ kind }) => kind === "numeric");
  if (runs.length < 2) {
    return null;
  }
  return (
    <>
      {shares.length === 0 ? null : (
        <Scores
          title="Over the last complete runs"
          runs={runs}
          names={shares.map(({ name }) => name)}
          kind="discrete"
          run={run}
        />
      )}
      {numbers.map(({ name }) => (
        <Scores
          key={name}
          title={`${name} over the last complete runs`}
          runs={runs}
          names={[name]}
          kind="numeric"
          run={run}
        />
      ))}
    </>
  );
}

interface Properties {
  title: string;
  runs: readonly HistoryRun[];
  names: string[];
  kind: string;
  run: Run;
}

function Scores({ title, runs, names, kind, run }: Properties) {
  const shown = runs.findIndex(({ path }) => path === run.path) + 1;
  const series: Series[] = names.map((name, at) => ({
    label: name,
    color: COLORS[at % COLORS.length] ?? "",
    values: runs.map(({ values }) => values[name] ?? null),
    format: (value) => formatScore(kind, value),
  }));
  return (
    <Chart
      title={title}
      summary={`The scores of ${runs.length} runs, the oldest first.`}
      axis="run"
      places={runs.map((_, at) => at + 1)}
      series={series}
      {...(kind === "discrete" ? { range: [0, 1] as [number, number] } : {})}
      chosen={shown === 0 ? undefined : shown}
      {...(source.value?.live === undefined
        ? {}
        : {
            onChoose: (place: number) => {
              const path = runs[place - 1]?.path;
              if (path !== undefined) {
                chooseRun(path);
              }
            },
          })}
      noteOf={(place) => (place === shown ? "shown" : "")}
    />
  );
}
