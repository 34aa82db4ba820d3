/** Runs and views for the tests of the results. */

import type { Source } from "../../src/results/source";
import type { Metric, MetricComparison, ResultsView, Row, Run, RunComparison } from "../../src/wire/results";

export const METRIC: Metric = {
  name: "exact",
  kind: "discrete",
  value: 0.5,
  text: "50 %",
  low: 0.2,
  high: 0.8,
  scored: 2,
  unscored: 0,
  good: "correct",
  lowerIsBetter: false,
  bars: [{ label: "correct", count: 1 }],
};

export function run(name: string, given: Partial<Run> = {}): Run {
  return {
    path: `/results/${name}.csv`,
    name,
    experiment: "main",
    prompt: "/triage.yml.j2",
    promptName: "triage.yml.j2",
    dataset: "tickets.csv",
    started: "2026-11-21T16:29:16+00:00",
    seconds: 1,
    models: ["local:smollm2"],
    rows: 2,
    failed: 0,
    invalid: 0,
    cached: 0,
    inputTokens: 10,
    outputTokens: 4,
    cachedInputTokens: 0,
    reasoningTokens: 0,
    cost: 0,
    paid: 0,
    free: true,
    rowsChosen: null,
    isComplete: true,
    canComplete: false,
    stale: false,
    commit: null,
    dirty: null,
    columns: ["id", "row_text", "response", "exact"],
    expected: [],
    metrics: [METRIC],
    byModel: [],
    classes: [],
    notes: {},
    notesProblem: null,
    leftOut: [],
    ...given,
  };
}

export function comparison(
  metric: Partial<MetricComparison>,
  given: Partial<RunComparison> = {},
): RunComparison {
  return {
    run: "/results/second.csv",
    problem: null,
    beforeName: "first",
    afterName: "second",
    pairs: 2,
    better: 1,
    worse: 0,
    metrics: [
      {
        name: "exact",
        kind: "discrete",
        verdict: "better",
        message: "better by 50 points",
        before: 0.5,
        after: 1,
        difference: 0.5,
        low: 0.1,
        high: 0.9,
        pValue: 0.01,
        points: [],
        moves: { higher: 1, lower: 0, same: 1 },
        ...metric,
      },
    ],
    notes: [],
    ...given,
  };
}

export function view(runs: Run[], given: Partial<ResultsView> = {}): ResultsView {
  return { runs, comparisons: [], history: [], others: [], complete: true, ...given };
}

/** The source of a report with the rows of every run. */
export function sourceWith(rows: readonly Row[]): Source {
  return {
    live: undefined,
    forms: ["csv"],
    rows: (_run, { places }, start, count) => {
      const found = rows.filter(({ place }) => places?.includes(place) ?? true);
      return Promise.resolve({ total: found.length, start, rows: found.slice(start, start + count) });
    },
    pairs: () =>
      Promise.resolve({
        total: rows.length,
        start: 0,
        rows: rows.map(({ cells }) => ({ before: cells, after: { ...cells, response: "low" } })),
      }),
    messages: () => Promise.resolve({ messages: [{ role: "user", content: "How urgent?" }] }),
    export: () => undefined,
    copy: () => undefined,
  };
}
