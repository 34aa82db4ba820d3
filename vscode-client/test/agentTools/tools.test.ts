import { expect, it } from "vitest";

import manifest from "../../package.json";
import { type Editor, type Input, TOOLS } from "../../src/agentTools/tools";

/** Calls a tool against a server that gives these answers; returns its text and the commands it ran. */
async function call(name: string, input: Input, answers: Record<string, unknown>) {
  const ran: [string, object][] = [];
  const execute = <Result>(command: string, argument: object) => {
    ran.push([command, argument]);
    return Promise.resolve(answers[command] as Result);
  };
  const editor: Editor = {
    execute,
    run: execute,
    uriOf: (file) => Promise.resolve(`file:///w/${file}`),
    runOf: (run) => Promise.resolve(`/w/experiments/${run}.csv`),
    shown: (path) => path.replace("/w/", ""),
  };
  return { text: await TOOLS[name]?.(input, editor), ran };
}

const part = (content: string) => ({ parts: [{ name: "task", role: "user", content }], tokens: 2 });

it("has every tool that the manifest declares", () => {
  const declared = manifest.contributes.languageModelTools.map(({ name }) => name);
  expect(declared).toEqual(Object.keys(TOOLS).map((name) => `promptls_${name}`));
});

it("names the place and the rule of a finding", async () => {
  const range = { start: { line: 1, character: 8 } };
  const found = [{ path: "/w/a.yml.j2", range, code: "unknown-role", message: "no model knows it" }];
  const { text } = await call("check_prompts", {}, { "promptls.check": found });
  expect(text).toBe("a.yml.j2:2:9 unknown-role: no model knows it");
});

it("counts rows from 1, as the dataset does", async () => {
  const answers = { "promptls.preview": { rendering: part("Hi"), failure: null, sample: { name: "row 3" } } };
  const { text, ran } = await call("render_prompt", { file: "a.yml.j2", row: 3 }, answers);
  expect(ran).toEqual([["promptls.preview", { uri: "file:///w/a.yml.j2", sample: undefined, row: 2 }]]);
  expect(text).toBe("2 tokens with row 3\n\n## task (user)\nHi");
});

it("shows what the last commit sent, and what is sent now", async () => {
  const { text } = await call(
    "preview_changes",
    { file: "a.yml.j2" },
    {
      "promptls.previewCommitted": {
        commit: { name: "abc", subject: "First" },
        rendering: part("old"),
        failure: null,
      },
      "promptls.preview": { rendering: part("new"), failure: null, sample: null },
    },
  );
  expect(text).toBe("since abc (First)\n-## task (user)\n-old\n+## task (user)\n+new");
});

it("passes the budget of a run to the server", async () => {
  const { ran, text } = await call(
    "run_experiment",
    { file: "a.yml.j2", rows: "5", max_cost: 0.5 },
    { "promptls.runExperiment": { message: "r: 5 rows", run: "/w/experiments/r.csv" } },
  );
  expect(ran[0]?.[1]).toMatchObject({ rows: "5", budget: { cost: 0.5 } });
  expect(text).toBe("r: 5 rows\ntable: experiments/r.csv");
});

it("asks no model for a plan", async () => {
  const plan = { "promptls.planExperiment": { message: "5 calls, free" } };
  const { ran, text } = await call("run_experiment", { file: "a.yml.j2", plan_only: true }, plan);
  expect(ran.map(([command]) => command)).toEqual(["promptls.planExperiment"]);
  expect(text).toBe("5 calls, free");
});

it("shows rows that got worse first", async () => {
  const change = { id: "1", metric: "m", before: "a", after: "b" };
  const changes = [
    { ...change, better: true },
    { ...change, id: "2", better: false },
  ];
  const { text } = await call(
    "compare_runs",
    { before: "r", after: "s" },
    {
      "promptls.compareRuns": {
        before: { name: "r" },
        after: { name: "s" },
        sentences: ["m: s is better"],
        changes,
      },
    },
  );
  expect(text).toBe("before: r, after: s\nm: s is better\nworse: row 2 m a → b\nbetter: row 1 m a → b");
});
