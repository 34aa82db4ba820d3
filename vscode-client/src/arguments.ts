/** Which file a command applies to. */

import type { Uri } from "vscode";

export type CommandArgument = { uri: string } & Record<string, unknown>;

/**
 * Returns a command's argument object: from a lens or code action, or made from the file that a menu passes.
 * Undefined if neither says which file is meant.
 */
export function argumentOf(given: unknown): CommandArgument | undefined {
  if (isUri(given)) {
    return { uri: given.toString() };
  }
  if (typeof given === "object" && given !== null && "uri" in given && typeof given.uri === "string") {
    return { ...given, uri: given.uri };
  }
  return undefined;
}

/** Menus of the editor pass the file as a `Uri`. */
function isUri(value: unknown): value is Uri {
  return typeof value === "object" && value !== null && "scheme" in value && "fsPath" in value;
}
