/** Experiments as tests, independent of VS Code: items, requested runs, messages of verdicts. */

import type { RowVerdict } from "@promptls/web/wire/commands";

/** What a test represents. */
export type TestData =
  | { kind: "prompt"; uri: string }
  | { kind: "experiment"; uri: string; experiment: string }
  | { kind: "row"; uri: string; experiment: string; number: number }
  | { kind: "example"; uri: string; experiment: string; number: number };

/** One run of an experiment; without `rows`, over all of them. */
export interface RequestedRun {
  uri: string;
  experiment: string;
  rows?: string;
  /** The numbers of the rows or examples; undefined for all rows. */
  numbers?: ReadonlySet<number>;
  examples: boolean;
}

/** Returns an id that is unique among siblings. */
export function idOf(data: TestData): string {
  switch (data.kind) {
    case "prompt":
      return data.uri;
    case "experiment":
      return `experiment ${data.experiment}`;
    default:
      return `${data.kind} ${data.number}`;
  }
}

/** Returns a text that sorts numbered tests by number, and examples before rows. */
export function sortTextOf(data: TestData): string {
  switch (data.kind) {
    case "prompt":
      return data.uri;
    case "experiment":
      return data.experiment;
    default:
      return `${data.kind} ${String(data.number).padStart(9, "0")}`;
  }
}

/**
 * Returns the runs for the chosen tests: per experiment at most one over rows and one over each example. A
 * chosen experiment includes its chosen rows; `experimentsOf` returns the experiments of a prompt.
 */
export function requestedRuns(
  chosen: readonly TestData[],
  experimentsOf: (uri: string) => readonly string[],
  excluded: readonly TestData[] = [],
): RequestedRun[] {
  const whole = new Map<string, RequestedRun>();
  const some = new Map<string, { uri: string; experiment: string; numbers: Set<number> }>();
  const examples: RequestedRun[] = [];
  const out = new Set(excluded.map(wholeIdOf));
  const isOut = (data: TestData) => out.has(wholeIdOf(data));
  for (const data of chosen) {
    if (isOut(data)) {
      continue;
    }
    if (data.kind === "prompt" || data.kind === "experiment") {
      const names = data.kind === "prompt" ? experimentsOf(data.uri) : [data.experiment];
      for (const experiment of names) {
        if (!isOut({ kind: "experiment", uri: data.uri, experiment })) {
          whole.set(keyOf(data.uri, experiment), { uri: data.uri, experiment, examples: false });
        }
      }
    } else if (data.kind === "row") {
      const key = keyOf(data.uri, data.experiment);
      const found = some.get(key) ?? {
        uri: data.uri,
        experiment: data.experiment,
        numbers: new Set<number>(),
      };
      some.set(key, found);
      found.numbers.add(data.number);
    } else {
      const { uri, experiment, number } = data;
      examples.push({
        uri,
        experiment,
        rows: `example ${number}`,
        numbers: new Set([number]),
        examples: true,
      });
    }
  }
  const ofRows = [...some]
    .filter(([key]) => !whole.has(key))
    .map(([, each]) => ({
      uri: each.uri,
      experiment: each.experiment,
      rows: rangesOf(each.numbers),
      numbers: each.numbers,
      examples: false,
    }));
  return [...whole.values(), ...ofRows, ...examples];
}

/**
 * Returns the numbers in the server's syntax: "3,7-9,". The trailing comma distinguishes row 3 from the first
 * 3 rows.
 */
export function rangesOf(numbers: Iterable<number>): string {
  const ranges: [number, number][] = [];
  for (const number of [...numbers].sort((one, other) => one - other)) {
    const last = ranges.at(-1);
    if (last !== undefined && number === last[1] + 1) {
      last[1] = number;
    } else {
      ranges.push([number, number]);
    }
  }
  return `${ranges.map(([low, high]) => (low === high ? low : `${low}-${high}`)).join(",")},`;
}

/** Returns the duration of a verdict in milliseconds. */
export function millisecondsOf(verdict: RowVerdict): number | undefined {
  return verdict.seconds === null ? undefined : verdict.seconds * 1000;
}

function keyOf(uri: string, experiment: string): string {
  return JSON.stringify([uri, experiment]);
}

/** Returns an id that is unique among all tests. */
function wholeIdOf(data: TestData): string {
  return JSON.stringify([data.uri, "experiment" in data ? data.experiment : "", idOf(data)]);
}
