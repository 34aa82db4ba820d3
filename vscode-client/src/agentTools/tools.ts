/** The agent tools: each calls commands of the server and returns short text. */

import type { RunResult } from "@promptls/web/wire/commands";
import type { CommittedAnswer, PreviewResult } from "@promptls/web/wire/preview";
import type { TextAnswer } from "@promptls/web/wire/results";

export type Input = Record<string, unknown>;

/** What a tool needs from the editor. */
export interface Editor {
  execute: <Result>(command: string, argument: object) => Promise<Result>;
  /** Runs a command with a progress notification that can cancel it. */
  run: <Result>(command: string, argument: object) => Promise<Result>;
  /** Returns the URI of a file from its path in the workspace. */
  uriOf: (file: string) => Promise<string>;
  /** Returns the path of a run's table, or of a prompt, whose last run is used. */
  runOf: (name: string) => Promise<string>;
  /** Returns a path relative to the workspace, for messages. */
  shown: (path: string) => string;
}

export type Tool = (input: Input, editor: Editor) => Promise<string>;

interface Found {
  path: string;
  code: string;
  message: string;
  range: { start: { line: number; character: number } };
}

interface Contract {
  inputs: { name: string; type: string; optional: boolean }[];
}

interface Tokens {
  total: number;
  limit: number | null;
  encoding: string;
  sample: string;
  parts: { name: string; role: string; tokens: number }[];
}

interface Compared {
  before: { name: string };
  after: { name: string };
  sentences: string[];
  changes: { id: string; metric: string; before: string; after: string; better: boolean }[];
}

const SHOWN = 10;

export const TOOLS: Record<string, Tool> = {
  check_prompts: async ({ paths }, { execute, uriOf, shown }) => {
    const named = textsOf(paths);
    const targets =
      named.length === 0 ? [{}] : await Promise.all(named.map(async (path) => ({ uri: await uriOf(path) })));
    const found = (await Promise.all(targets.map((each) => execute<Found[]>("promptls.check", each)))).flat();
    const lines = found.map(
      ({ path, range: { start }, code, message }) =>
        `${shown(path)}:${start.line + 1}:${start.character + 1} ${code}: ${message}`,
    );
    return lines.join("\n") || "no findings";
  },

  show_contract: async ({ file }, { execute, uriOf }) => {
    const { inputs } = await execute<Contract>("promptls.contract", { uri: await uriOf(textOf(file)) });
    const lines = inputs.map(({ name, type, optional }) => `${name}: ${type}${optional ? ", optional" : ""}`);
    return lines.join("\n") || "the prompt has no inputs";
  },

  render_prompt: async (input, { execute, uriOf }) =>
    renderedText(await execute<PreviewResult>("promptls.preview", await chosenData(input, uriOf))),

  count_tokens: async ({ paths, model }, { execute, uriOf }) => {
    const counted = textsOf(paths).map(async (path) => {
      const { total, limit, encoding, sample, parts } = await execute<Tokens>("promptls.tokens", {
        uri: await uriOf(path),
        model,
      });
      const of = limit === null || limit <= 0 ? "" : ` of ${limit}`;
      const lines = parts.map(({ name, role, tokens }) => `  ${name} (${role}): ${tokens}`);
      return [`${path}: ${total}${of} tokens (${encoding}) with ${sample}`, ...lines].join("\n");
    });
    return (await Promise.all(counted)).join("\n") || "name the prompts in `paths`";
  },

  preview_changes: async (input, { execute, uriOf }) => {
    const argument = await chosenData(input, uriOf);
    const before = await execute<CommittedAnswer>("promptls.previewCommitted", argument);
    const now = await execute<PreviewResult>("promptls.preview", argument);
    const was = partsOf(before.rendering);
    const is = partsOf(now.rendering);
    const gone = [...was].filter(([name, text]) => is.get(name) !== text).map(([, text]) => minus(text));
    const come = [...is].filter(([name, text]) => was.get(name) !== text).map(([, text]) => plus(text));
    const failure = now.failure ?? before.failure;
    if (failure !== null) {
      return `the prompt does not render: ${failure.message}`;
    }
    const difference = [...gone, ...come].join("\n");
    return `since ${before.commit.name} (${before.commit.subject})\n${difference || "the rendered prompt is the same with this data"}`;
  },

  run_experiment: async (input, { execute, run, uriOf, shown }) => {
    const argument = await runArguments(input, uriOf);
    if (isOnlyPlan(input)) {
      return (await execute<{ message: string }>("promptls.planExperiment", argument)).message;
    }
    const { message, run: table } = await run<RunResult>("promptls.runExperiment", argument);
    return table === "" ? message : `${message}\ntable: ${shown(table)}`;
  },

  compare_runs: async ({ before, after, count }, { execute, runOf }) => {
    const runs = [await runOf(textOf(before)), await runOf(textOf(after))];
    const compared = await execute<Compared>("promptls.compareRuns", { runs });
    const { sentences, changes } = compared;
    const worse = changes.filter((each) => !each.better);
    const shown = [...worse, ...changes.filter((each) => each.better)].slice(0, numberOf(count, SHOWN));
    const lines = shown.map(
      (each) =>
        `${each.better ? "better" : "worse"}: row ${each.id} ${each.metric} ${each.before} → ${each.after}`,
    );
    const heading = `before: ${compared.before.name}, after: ${compared.after.name}`;
    return [heading, ...sentences, ...lines].join("\n");
  },

  read_results: async ({ run, show, search, start, count }, { execute, runOf }) => {
    const argument = { run: await runOf(textOf(run)), show, search, start, count };
    return (await execute<TextAnswer>("promptls.resultsText", argument)).text;
  },
};

/** A plan calls no model, so it needs no consent. */
export function isOnlyPlan(input: Input): boolean {
  return input.plan_only === true;
}

/** Returns the arguments of the command that performs the requested run. */
export async function runArguments(input: Input, uriOf: Editor["uriOf"]): Promise<object> {
  const { experiment, models, rows, repeats, fresh } = input;
  const budget = { calls: input.max_calls, tokens: input.max_tokens, cost: input.max_cost };
  return { uri: await uriOf(textOf(input.file)), experiment, models, rows, repeats, fresh, budget };
}

/** Returns the arguments of the preview; the server counts rows from 0. */
async function chosenData({ file, sample, row }: Input, uriOf: Editor["uriOf"]): Promise<object> {
  return {
    uri: await uriOf(textOf(file)),
    sample,
    row: typeof row === "number" ? row - 1 : undefined,
  };
}

function renderedText({ rendering, failure, sample }: PreviewResult): string {
  if (rendering === null) {
    return `the prompt does not render: ${failure?.message ?? "unknown error"}`;
  }
  const heading = `${rendering.tokens} tokens with ${sample?.name ?? "placeholder data"}`;
  return [heading, ...partsOf(rendering).values()].join("\n\n");
}

function partsOf(rendering: PreviewResult["rendering"]): Map<string, string> {
  return new Map(
    (rendering?.parts ?? []).map(({ name, role, content }) => [
      `${name} ${role}`,
      `## ${name} (${role})\n${typeof content === "string" ? content : JSON.stringify(content)}`,
    ]),
  );
}

const minus = (text: string) => text.replaceAll(/^/gm, "-");
const plus = (text: string) => text.replaceAll(/^/gm, "+");

function textOf(value: unknown): string {
  if (typeof value !== "string") {
    throw new Error("an argument is missing: it must be a text");
  }
  return value;
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}

function numberOf(value: unknown, otherwise: number): number {
  return typeof value === "number" ? value : otherwise;
}
