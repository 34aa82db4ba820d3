/** Each row's score in both runs: above the line it increased, below it decreased. */

import { count, grouped } from "../shared/format";
import { Scrolled } from "../shared/scrolled";
import type { MetricComparison } from "../wire/results";
import { formatScore } from "./formatScores";

const SIZE = 300;
const EDGE = 34;
/** If there are more points, they are drawn smaller. */
const MANY = 400;

export function Scatter({ metric, names }: { metric: MetricComparison; names: [string, string] }) {
  const { points, kind, moves } = metric;
  const drawn = points.reduce((sum, [, , number]) => sum + number, 0);
  const all = moves.higher + moves.lower + moves.same;
  const summary = `${count(moves.higher, "row")} higher, ${grouped(moves.lower)} lower, ${grouped(moves.same)} the same${drawn < all ? `; ${grouped(drawn)} of them are drawn` : ""}`;
  if (
    kind === "discrete" &&
    points.every(([before, after]) => [before, after].every((value) => value === 0 || value === 1))
  ) {
    return <Moves points={points} names={names} />;
  }
  const values = points.flatMap(([before, after]) => [before, after]);
  const low = Math.min(...values);
  const high = Math.max(...values);
  const span = high - low || 1;
  const x = (value: number): number => EDGE + ((value - low) / span) * (SIZE - EDGE - 12);
  const y = (value: number): number => SIZE - EDGE - ((value - low) / span) * (SIZE - EDGE - 12);
  const most = Math.max(...points.map(([, , number]) => number), 1);
  return (
    <figure class="scatter">
      <svg
        viewBox={`0 0 ${SIZE} ${SIZE}`}
        role="img"
        aria-label={`${metric.name}, ${names[0]} to the right and ${names[1]} up: ${summary}`}
      >
        <line class="same-line" x1={x(low)} y1={y(low)} x2={x(high)} y2={y(high)} />
        <line class="axis-line" x1={EDGE - 6} y1={SIZE - EDGE + 6} x2={SIZE - 6} y2={SIZE - EDGE + 6} />
        <line class="axis-line" x1={EDGE - 6} y1={6} x2={EDGE - 6} y2={SIZE - EDGE + 6} />
        {points.map(([before, after, number]) => (
          <circle
            key={`${before} ${after}`}
            class={after > before ? "higher" : after < before ? "lower" : "same"}
            cx={x(before)}
            cy={y(after)}
            r={(points.length > MANY ? 1.5 : 3) + 6 * Math.sqrt((number - 1) / Math.max(most, 10))}
          >
            <title>{`${formatScore(kind, before)} → ${formatScore(kind, after)}: ${count(number, "row")}`}</title>
          </circle>
        ))}
        <text x={EDGE - 6} y={SIZE - 12}>
          {formatScore(kind, low)}
        </text>
        <text x={SIZE - 6} y={SIZE - 12} text-anchor="end">
          {`${formatScore(kind, high)} ${short(names[0])} →`}
        </text>
        <text x={-EDGE} y={16} text-anchor="end" transform="rotate(-90)" dx={EDGE - 6}>
          {`${short(names[1])} →`}
        </text>
      </svg>
      <figcaption class="muted">{summary}</figcaption>
    </figure>
  );
}

function short(name: string): string {
  return name.length > 22 ? `${name.slice(0, 21)}…` : name;
}

/** For a metric with two classes, four numbers say everything. */
function Moves({ points, names }: { points: MetricComparison["points"]; names: [string, string] }) {
  const rows = (before: number, after: number): number =>
    points.find(([left, right]) => left === before && right === after)?.[2] ?? 0;
  return (
    <Scrolled label="Rows by whether they were good before and after">
      <table class="moves">
        <caption class="only-heard">Rows by whether they were good before and after</caption>
        <thead>
          <tr>
            <td />
            <th scope="col">
              good in <bdi>{names[1]}</bdi>
            </th>
            <th scope="col">not</th>
          </tr>
        </thead>
        <tbody>
          <tr>
            <th scope="row">
              good in <bdi>{names[0]}</bdi>
            </th>
            <td>{grouped(rows(1, 1))}</td>
            <td class={rows(1, 0) > 0 ? "worse" : undefined}>{grouped(rows(1, 0))}</td>
          </tr>
          <tr>
            <th scope="row">not</th>
            <td class={rows(0, 1) > 0 ? "better" : undefined}>{grouped(rows(0, 1))}</td>
            <td>{grouped(rows(0, 0))}</td>
          </tr>
        </tbody>
      </table>
    </Scrolled>
  );
}
