/** `promptls.setKey`: asks for a provider's key and saves it in the editor's secret store. */

import * as vscode from "vscode";

import type { Keys } from "./keys";
import { KEY_VARIABLES } from "./keyVariables";

const OTHER = "Another variable…";

/**
 * Saves a key under the variable's name, or removes it if the input is empty; without a name, asks for that
 * too. Returns whether a key is saved afterwards.
 */
export async function setKey(keys: Keys, variable?: string): Promise<boolean> {
  const name = variable ?? (await chosenVariable(keys));
  if (name === undefined) {
    return false;
  }
  const isSaved = keys.names.includes(name);
  const typed = await vscode.window.showInputBox({
    title: `Key in ${name}`,
    prompt: isSaved
      ? "A new key replaces the old one; an empty input removes it."
      : "Stored in the editor's secret storage, and sent only with runs whose models need it.",
    password: true,
    ignoreFocusOut: true,
  });
  const value = typed?.trim();
  if (value === undefined) {
    return false;
  }
  if (value !== "") {
    await keys.set(name, value);
    void vscode.window.showInformationMessage(`promptls: saved ${name}. New runs will use it.`);
    return true;
  }
  if (isSaved) {
    await keys.remove(name);
    void vscode.window.showInformationMessage(`promptls: the key in ${name} is removed.`);
  }
  return false;
}

async function chosenVariable(keys: Keys): Promise<string | undefined> {
  const known = KEY_VARIABLES.map(({ name, provider }) => ({ label: name, description: provider }));
  const own = keys.names
    .filter((name) => !known.some(({ label }) => label === name))
    .map((name) => ({ label: name, description: "" }));
  const items: vscode.QuickPickItem[] = [...known, ...own].map(({ label, description }) => ({
    label,
    description: keys.names.includes(label) ? `${description} $(key) saved` : description,
  }));
  const chosen = await vscode.window.showQuickPick([...items, { label: OTHER }], {
    title: "Which key?",
    placeHolder: "The environment variable that runs read",
  });
  if (chosen?.label !== OTHER) {
    return chosen?.label;
  }
  return vscode.window.showInputBox({
    title: "Which variable?",
    prompt: "The variable in `api_key_env` of the model in promptls.toml",
    validateInput: (name) => (/^[A-Za-z_]\w*$/.test(name) ? undefined : "Letters, digits and underscores"),
  });
}
