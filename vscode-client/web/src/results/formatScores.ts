/** Formats scores, times and costs. */

/** Formats a time: `21 Nov 2026, 16:29:16`, in the time zone of the run. */
export function moment(iso: string): string {
  const found = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}:\d{2}:\d{2})/.exec(iso);
  const month = found === null ? undefined : MONTHS[Number(found[2]) - 1];
  return found === null || month === undefined
    ? iso
    : `${Number(found[3])} ${month} ${found[1]}, ${found[4]}`;
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** Formats a value of a metric: a share in percent, else a number with three digits. */
export function formatScore(kind: string, value: number): string {
  return kind === "discrete" ? `${hundredths(value)} %` : String(Number(value.toPrecision(3)));
}

/** Formats the difference of a metric with its sign: in points for shares. */
export function formatDifference(kind: string, difference: number): string {
  const sign = difference > 0 ? "+" : difference < 0 ? "−" : "±";
  const size = Math.abs(difference);
  return kind === "discrete" ? `${sign}${pointsOf(size)} points` : `${sign}${Number(size.toPrecision(3))}`;
}

/**
 * Formats a difference of shares in points, with one decimal below one point, as in messages of the server.
 */
function pointsOf(share: number): number {
  const isSmall = share > 0 && 100 * share < 1;
  return isSmall ? Number((100 * share).toPrecision(1)) : hundredths(share);
}

/** Rounds a share to whole hundredths, half to even, as in messages of the server. */
function hundredths(share: number): number {
  const rounded = Math.round(100 * share);
  return (100 * share) % 1 === 0.5 ? rounded - (rounded % 2) : rounded;
}

export function duration(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  if (minutes >= 60) {
    return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  }
  return minutes > 0 ? `${minutes} min ${Math.round(seconds % 60)} s` : `${Number(seconds.toPrecision(3))} s`;
}

/** Describes the rows of a partial run: `first 12 rows`, `row 5`, `rows 3, 7-9` or `example 2`. */
export function chosenRows(chosen: string): string {
  if (/^\d+$/.test(chosen)) {
    return chosen === "1" ? "first row" : `first ${chosen} rows`;
  }
  if (/^examples?\b/.test(chosen)) {
    return chosen;
  }
  if (!/^[\d\s,-]+$/.test(chosen)) {
    return `rows with ${chosen}`;
  }
  const listed = chosen
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "")
    .join(", ");
  return /^\d+$/.test(listed) ? `row ${listed}` : `rows ${listed}`;
}
