/** Which server is started, decided from plain inputs. */

import * as path from "node:path";

export type ServerSource = "setting" | "selected environment" | "own environment";

export interface ServerCommand {
  command: string;
  args: string[];
  source: ServerSource;
  /** True when another selected Python could lead to another server. */
  dependsOnPython: boolean;
}

export interface ServerInputs {
  /** False in Restricted Mode: then nothing that the workspace could choose is run. */
  trusted: boolean;
  /** `promptls.server.path`; in Restricted Mode the user's own value only. Empty when unset. */
  configuredPath: string;
  /** The interpreter that the Python extension has selected. */
  selectedPython: string | undefined;
  /** True when that interpreter can import promptls. */
  hasServer(python: string): Promise<boolean>;
  /** The interpreter of the extension's own environment, or undefined where it is not installed. */
  ownEnvironment(): Promise<string | undefined>;
}

/**
 * Returns the command that starts the server: the setting, else the selected Python environment where it
 * holds promptls, else the extension's own environment; undefined where none of them is there.
 */
export async function resolveServer(inputs: ServerInputs): Promise<ServerCommand | undefined> {
  const configured = inputs.configuredPath.trim();
  if (configured !== "") {
    return { ...commandOf(configured), source: "setting", dependsOnPython: false };
  }
  const selected = inputs.trusted ? inputs.selectedPython : undefined;
  if (selected !== undefined && (await inputs.hasServer(selected))) {
    return { ...moduleOf(selected), source: "selected environment", dependsOnPython: true };
  }
  const own = await inputs.ownEnvironment();
  return own === undefined
    ? undefined
    : { ...moduleOf(own), source: "own environment", dependsOnPython: true };
}

/** True when both start the same server, so that a restart would change nothing. */
export function isSameServer(one: ServerCommand, other: ServerCommand): boolean {
  return one.command === other.command && one.args.join("\0") === other.args.join("\0");
}

/** Returns the command that runs a module of Python in the environment of a server. */
export function moduleBeside({ command, args }: ServerCommand, module: string): [string, ...string[]] {
  if (args[0] === "-m") {
    return [command, "-m", module];
  }
  const system = command.includes("\\") ? path.win32 : path.posix;
  return module === "promptls" ? [command] : [system.join(system.dirname(command), "python"), "-m", module];
}

/** The setting may name the promptls command or a Python interpreter that holds it. */
function commandOf(configured: string): Pick<ServerCommand, "command" | "args"> {
  const name = path.basename(configured.replaceAll("\\", "/"));
  return /^python[\d.]*(\.exe)?$/i.test(name)
    ? moduleOf(configured)
    : { command: configured, args: ["server"] };
}

function moduleOf(python: string): Pick<ServerCommand, "command" | "args"> {
  return { command: python, args: ["-m", "promptls", "server"] };
}
