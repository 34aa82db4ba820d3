/** The VS Code settings that the user has set, as the server expects them. */

/** The scopes of a setting, without its default. */
export interface Inspected {
  globalValue?: unknown;
  workspaceValue?: unknown;
  workspaceFolderValue?: unknown;
}

/** Settings used only by the extension; some contain paths of this machine. */
const OWN = /^(preview|server|trace)\./;

/**
 * Returns the settings that the user has set, by their names in `promptls.toml`; the project's values apply
 * to all others. `names` are those of the extension's settings.
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
