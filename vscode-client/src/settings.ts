/** The settings of VS Code that the user has set, as the server reads them. */

/** Where a setting may be set; the default is not among them. */
export interface Inspected {
  globalValue?: unknown;
  workspaceValue?: unknown;
  workspaceFolderValue?: unknown;
}

/** Settings of the extension alone: the server has no use for them, and some name places of this machine. */
const OWN = /^(preview|server|trace)\./;

/**
 * Returns the settings that have a value of the user's, by the names that `promptls.toml` has; for the others,
 * the project's apply. `names` are those of the extension's settings.
 */
export function explicitSettings(
  names: readonly string[],
  inspect: (name: string) => Inspected | undefined,
): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  for (const name of names.filter((each) => !OWN.test(each))) {
    const { globalValue, workspaceValue, workspaceFolderValue } = inspect(name) ?? {};
    const value = workspaceFolderValue ?? workspaceValue ?? globalValue;
    if (value === undefined) {
      continue;
    }
    const [first = "", second] = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`).split(".");
    found[first] =
      second === undefined ? value : { ...(found[first] as object | undefined), [second]: value };
  }
  return found;
}
