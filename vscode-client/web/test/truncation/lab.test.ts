import { expect, it } from "vitest";

import { firstTried, headerLines, nearest, stepsOf } from "../../src/truncation/lab";
import type { Cell, Lab } from "../../src/wire/lab";

const cell = (limit: number, step: number): Cell => ({
  limit,
  step,
  cacheRate: 0,
  keptRate: 0,
  lost: 0,
  needless: 0,
  breaks: 0,
  score: 0,
  failures: [],
  turns: { tokens: [], cached: [], lost: [], removed: [], failed: [] },
});
const LAB: Lab = {
  path: "/a.yml.j2",
  encoding: "o200k_base",
  approximate: false,
  input: "history",
  inputs: ["history"],
  limit: 410,
  step: 100,
  cache: { name: "exact", least: 0, block: 1, description: "" },
  chats: [],
  limits: [200, 400],
  steps: [1, 50, 100],
  cells: [cell(200, 1), cell(200, 50), cell(400, 1), cell(400, 100)],
  best: [
    { limit: 200, step: 50, reason: "" },
    { limit: 400, step: null, reason: "" },
  ],
  advice: "",
  unstable: null,
};

it.each([
  [
    "the limit nearest to the present one, with the present step where none is best",
    undefined,
    { limit: 400, step: 100 },
  ],
  ["another limit with a step that was tried under it", { limit: 200, step: 60 }, { limit: 200, step: 50 }],
])("shows %s", (_what, before, expected) => expect(firstTried(LAB, before)).toEqual(expected));

it("shows nothing where nothing was tried", () => {
  expect(firstTried({ ...LAB, limits: [], cells: [] })).toBeUndefined();
  expect(nearest([], 3)).toBeUndefined();
});

it("offers the steps of a limit, and the header's lines for what was tried", () => {
  expect(stepsOf(LAB, 200)).toEqual([1, 50]);
  expect(headerLines({ limit: 200, step: 50 })).toBe("token_limit: 200\ntruncation_step: 50\n");
});
