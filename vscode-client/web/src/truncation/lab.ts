/** Prepares the lab's results for the charts. */

import type { Cell, Lab } from "../wire/lab";

export interface Tried {
  limit: number;
  step: number;
}

/** Completes a selection: a limit without a step gets its best one. */
export interface Wish {
  limit?: number | undefined;
  step?: number | undefined;
}

/** Returns the initial limit and step: the current limit, or the closest one, with its best step. */
export function firstTried(lab: Lab, before?: Wish): Tried | undefined {
  const preferred = before?.limit ?? lab.limit ?? lab.limits[Math.floor(lab.limits.length / 2)];
  const limit = nearest(lab.limits, preferred ?? 0);
  if (limit === undefined) {
    return undefined;
  }
  const step = bestOf(lab, limit)?.step ?? lab.step ?? 1;
  const found = nearest(stepsOf(lab, limit), before?.step ?? step);
  return found === undefined ? undefined : { limit, step: found };
}

export function stepsOf(lab: Lab, limit: number): number[] {
  return cellsOf(lab, limit).map(({ step }) => step);
}

export function cellsOf(lab: Lab, limit: number): Cell[] {
  return lab.cells.filter((cell) => cell.limit === limit);
}

export function cellAt(lab: Lab, { limit, step }: Tried): Cell | undefined {
  return lab.cells.find((cell) => cell.limit === limit && cell.step === step);
}

export function bestOf(lab: Lab, limit: number): Lab["best"][number] | undefined {
  return lab.best.find((best) => best.limit === limit);
}

/** Returns the number of a list that is closest to another one. */
export function nearest(numbers: readonly number[], target: number): number | undefined {
  return numbers.reduce<number | undefined>(
    (best, each) => (best === undefined || Math.abs(each - target) < Math.abs(best - target) ? each : best),
    undefined,
  );
}

/** Returns the header lines that set a tried limit and step. */
export function headerLines({ limit, step }: Tried): string {
  return `token_limit: ${limit}\ntruncation_step: ${step}\n`;
}
