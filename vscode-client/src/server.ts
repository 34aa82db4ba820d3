/** Chooses the server to start, from plain inputs. */

import * as path from "node:path";

export type ServerSource = "setting" | "selected environment" | "own environment";

export interface ServerCommand {
  command: string;
  args: string[];
  source: ServerSource;
  /** True if selecting another Python may lead to another server. */
  dependsOnPython: boolean;
}

export interface ServerInputs {
  /** False in Restricted Mode: nothing that the workspace could have chosen is run. */
  trusted: boolean;
  /** `promptls.server.path`; in Restricted Mode only the user's own value. Empty if unset. */
  configuredPath: string;
  /** The interpreter selected in the Python extension. */
  selectedPython: string | undefined;
  /** Returns whether that interpreter can import promptls. */
  hasServer(python: string): Promise<boolean>;
  /** Returns the interpreter of the extension's own environment, or undefined if it is not installed. */
  ownEnvironment(): Promise<string | undefined>;
}

/**
 * Returns the command that starts the server: the setting, else the selected Python environment if it has
 * promptls, else the extension's own environment; undefined if none of these exists.
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

/** Returns whether both start the same server, so that a restart would change nothing. */
export function isSameServer(one: ServerCommand, other: ServerCommand): boolean {
  return one.command === other.command && one.args.join("\0") === other.args.join("\0");
}

/** Returns the command that runs a Python module in the environment of a server. */
export function moduleBeside({ command, args }: ServerCommand, module: string): [string, ...string[]] {
  if (args[0] === "-m") {
    return [command, "-m", module];
  }
  const system = command.includes("\\") ? path.win32 : path.posix;
  return module === "promptls" ? [command] : [system.join(system.dirname(command), "python"), "-m", module];
}

/** The setting may contain the promptls command or a Python interpreter that has promptls. */
function commandOf(configured: string): Pick<ServerCommand, "command" | "args"> {
  const name = path.basename(configured.replaceAll("\\", "/"));
  return /^python[\d.]*(\.exe)?$/i.test(name)
    ? moduleOf(configured)
    : { command: configured, args: ["server"] };
}

function moduleOf(python: string): Pick<ServerCommand, "command" | "args"> {
  return { command: python, args: ["-m", "promptls", "server"] };
}
