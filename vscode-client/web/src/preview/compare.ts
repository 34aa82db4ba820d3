/** Compares two renderings of a prompt part by part. */

import type { Part } from "../wire/preview";
import { contentOf } from "./sourceMap";

export interface PartChange {
  kind: "same" | "changed" | "added" | "removed";
  before: Part | undefined;
  after: Part | undefined;
  /** The difference in tokens. */
  tokens: number;
}

/** Returns the parts of both in order, with parts of the same name and role side by side. */
export function compareParts(before: readonly Part[], after: readonly Part[]): PartChange[] {
  const found: PartChange[] = [];
  let left = 0;
  let right = 0;
  for (const [leftNext, rightNext] of [...matched(before, after), [before.length, after.length] as const]) {
    while (left < leftNext) {
      found.push(change(before[left], undefined));
      left += 1;
    }
    while (right < rightNext) {
      found.push(change(undefined, after[right]));
      right += 1;
    }
    if (leftNext < before.length && rightNext < after.length) {
      found.push(change(before[leftNext], after[rightNext]));
      left += 1;
      right += 1;
    }
  }
  return found;
}

function change(before: Part | undefined, after: Part | undefined): PartChange {
  const tokens = (after?.tokens ?? 0) - (before?.tokens ?? 0);
  if (before === undefined || after === undefined) {
    return { kind: before === undefined ? "added" : "removed", before, after, tokens };
  }
  return { kind: contentOf(before) === contentOf(after) ? "same" : "changed", before, after, tokens };
}

const MAX_COMPARED = 2000;

/** Returns the longest common subsequence of parts with the same name and role, as pairs of indices. */
function matched(before: readonly Part[], after: readonly Part[]): [number, number][] {
  const left = before.slice(0, MAX_COMPARED).map(key);
  const right = after.slice(0, MAX_COMPARED).map(key);
  const lengths = Array.from({ length: left.length + 1 }, () => new Uint16Array(right.length + 1));
  const at = (one: number, other: number): number => lengths[one]?.[other] ?? 0;
  for (let one = left.length - 1; one >= 0; one -= 1) {
    for (let other = right.length - 1; other >= 0; other -= 1) {
      (lengths[one] as Uint16Array)[other] =
        left[one] === right[other]
          ? at(one + 1, other + 1) + 1
          : Math.max(at(one + 1, other), at(one, other + 1));
    }
  }
  const pairs: [number, number][] = [];
  let one = 0;
  let other = 0;
  while (one < left.length && other < right.length) {
    if (left[one] === right[other]) {
      pairs.push([one, other]);
      one += 1;
      other += 1;
    } else if (at(one + 1, other) >= at(one, other + 1)) {
      one += 1;
    } else {
      other += 1;
    }
  }
  return pairs;
}

function key(part: Part): string {
  return JSON.stringify([part.role, part.name]);
}
