/** What the lab found, as the charts need it. */

import type { Cell, Lab } from "../wire/lab";

export interface Tried {
  limit: number;
  step: number;
}

/** What should be shown, as far as that is known: a limit without a step is shown with its best one. */
export interface Wish {
  limit?: number | undefined;
  step?: number | undefined;
}

/** Returns the limit and step that are shown at first: the present limit, or the one nearest to it, with its best step. */
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

/** The number of a list that differs least from another one. */
export function nearest(numbers: readonly number[], target: number): number | undefined {
  return numbers.reduce<number | undefined>(
    (best, each) => (best === undefined || Math.abs(each - target) < Math.abs(best - target) ? each : best),
    undefined,
  );
}

/** The lines of the header that set what was tried. */
export function headerLines({ limit, step }: Tried): string {
  return `token_limit: ${limit}\ntruncation_step: ${step}\n`;
}
