import * as fs from "node:fs/promises";
import * as os from "node:os";
import * as path from "node:path";

import { beforeEach, expect, it } from "vitest";

import { type EnvironmentPlace, type EnvironmentTools, interpreterOf, ownEnvironment } from "../src/environment";
import type { ProcessResult } from "../src/process";

let place: EnvironmentPlace;
let commands: string[];

beforeEach(async () => {
  const folder = await fs.mkdtemp(path.join(os.tmpdir(), "promptls-"));
  place = { storage: path.join(folder, "storage"), wheels: path.join(folder, "wheel"), pythons: ["python2", "python3"] };
  commands = [];
  await fs.mkdir(place.wheels);
  await fs.writeFile(path.join(place.wheels, "promptls-1.0-py3-none-any.whl"), "first build");
});

/** Programs that only leave behind what is looked for; `failing` names what cannot be done. */
function tools(failing?: "venv" | "pip"): EnvironmentTools {
  return {
    async run(command, args): Promise<ProcessResult> {
      commands.push([path.basename(command), ...args].join(" "));
      if (command === "python2") {
        return { code: 1, stdout: "", stderr: "" };
      }
      const what = args.find((word) => word === "venv" || word === "pip");
      if (what !== undefined && what === failing) {
        return { code: 1, stdout: "", stderr: "first line\nthe reason" };
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

it("makes an environment with the first Python that is new enough, and installs the carried wheel", async () => {
  const python = await ownEnvironment(place, tools());
  await fs.access(python);
  expect(commands.some((command) => command.startsWith("python3 -m venv"))).toBe(true);
  expect(commands.at(-1)).toContain("promptls-1.0-py3-none-any.whl");
});

it("makes an environment once", async () => {
  const first = await ownEnvironment(place, tools());
  expect(await ownEnvironment(place, tools())).toBe(first);
  expect(made()).toBe(1);
});

it("makes one environment for two windows that ask at once", async () => {
  const [one, other] = await Promise.all([ownEnvironment(place, tools()), ownEnvironment(place, tools())]);
  expect(one).toBe(other);
  expect(made()).toBe(1);
});

it("begins anew after an installation that was interrupted", async () => {
  await expect(ownEnvironment(place, tools("pip"))).rejects.toThrow("the reason");
  await ownEnvironment(place, tools());
  expect(made()).toBe(2);
});

it("takes over the lock of a process that is no more", async () => {
  const python = await ownEnvironment(place, tools());
  const environment = path.dirname(path.dirname(python));
  await fs.rm(environment, { recursive: true });
  const noProcess = 2 ** 22 + 1;
  await fs.writeFile(`${environment}.lock`, String(noProcess));
  expect(await ownEnvironment(place, tools())).toBe(python);
});

it("makes another environment for another build of the same version, and removes the old one", async () => {
  const first = await ownEnvironment(place, tools());
  await fs.writeFile(path.join(place.wheels, "promptls-1.0-py3-none-any.whl"), "other build");
  const second = await ownEnvironment(place, tools());
  expect(second).not.toBe(first);
  await expect(fs.access(first)).rejects.toThrow();
});

it("says what to install where Python cannot make environments", async () => {
  await expect(ownEnvironment(place, tools("venv"))).rejects.toThrow("python3-venv");
});

it("says which Pythons were tried where none is new enough", async () => {
  await expect(ownEnvironment({ ...place, pythons: ["python2"] }, tools())).rejects.toThrow(
    "needs Python 3.10 or later, and none was found (tried python2)",
  );
});

it("says that a build without a wheel carries no server", async () => {
  await fs.rm(place.wheels, { recursive: true });
  await expect(ownEnvironment(place, tools())).rejects.toThrow("carries no server");
});
