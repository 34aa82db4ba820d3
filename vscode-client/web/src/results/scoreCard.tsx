/** One metric's score: its value, its confidence interval, and the change since the compared run. */

import { BidiText } from "../shared/bidiText";
import { grouped } from "../shared/format";
import { revealed } from "../shared/hidden";
import type { Metric } from "../wire/results";
import { formatDifference, formatScore } from "./formatScores";
import { comparison, showRows } from "./store";

export function ScoreCard({ metric }: { metric: Metric }) {
  const { name, text, kind, value, low, high, scored, unscored } = metric;
  const compared = comparison.value?.metrics.find((each) => each.name === name);
  const interval =
    low === null || high === null ? undefined : `${formatScore(kind, low)} to ${formatScore(kind, high)}`;
  const range = rangeOf(metric);
  return (
    <li class="card">
      <bdi class="metric-name">{broken(name)}</bdi>
      <div class="score-line">
        <span class="score">{text}</span>
        {compared === undefined ? null : (
          <span class={`change ${compared.verdict}`} title={compared.message}>
            {formatDifference(kind, compared.difference)}
            <span class="only-heard">{` ${compared.verdict}`}</span>
          </span>
        )}
        <span class="of">{meaningOf(metric)}</span>
      </div>
      {range === undefined || value === null ? null : (
        <div
          class="interval"
          aria-hidden="true"
          title={
            compared === undefined
              ? "The score and its interval"
              : `The score and its interval; the line is the previous score, ${formatScore(kind, compared.before)}`
          }
        >
          {low === null || high === null ? null : (
            <i
              class="reach"
              style={{ left: place(low, range), width: `calc(${place(high, range)} - ${place(low, range)})` }}
            />
          )}
          {compared === undefined ? null : <i class="was" style={{ left: place(compared.before, range) }} />}
          <i class="dot" style={{ left: place(value, range) }} />
        </div>
      )}
      <p class="aside">
        {interval === undefined ? null : (
          <span title="With 95 % confidence, the score over rows like these">95 %: {interval}</span>
        )}
        <span class="spacer" />
        {unscored === 0 ? (
          `${grouped(scored)} scored`
        ) : (
          <button type="button" class="link" onClick={() => showRows({ equal: { [name]: "" } })}>
            {grouped(unscored)} without a score
          </button>
        )}
      </p>
    </li>
  );
}

/** The description of the score. */
function meaningOf({ kind, good, lowerIsBetter }: Metric) {
  const lower = lowerIsBetter ? ", lower is better" : "";
  if (kind === "discrete") {
    return good === null ? null : (
      <>
        share of <BidiText text={good} />
        {lower}
      </>
    );
  }
  return kind === "numeric" ? `mean${lower}` : null;
}

/** Returns the ends of a score's scale: those of shares, or of its values. */
function rangeOf({ kind, value, low, high }: Metric): [number, number] | undefined {
  const values = [value, low, high].filter((each) => each !== null);
  if (kind === "discrete" || values.every((each) => each >= 0 && each <= 1)) {
    return [0, 1];
  }
  const [least, most] = [Math.min(0, ...values), Math.max(0, ...values)];
  return least === most ? undefined : [least, most + 0.15 * (most - least)];
}

function place(value: number, [low, high]: [number, number]): string {
  return `${(100 * Math.min(1, Math.max(0, (value - low) / (high - low)))).toFixed(2)}%`;
}

/** A long name may break after each underscore. */
export function broken(name: string) {
  return name.split("_").map((word, at) => (
    <span key={at}>
      {at === 0 ? "" : "_"}
      {at === 0 ? null : <wbr />}
      {revealed(word).shown}
    </span>
  ));
}
