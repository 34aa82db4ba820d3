/** The Python environment that the user selected in the Python extension. */

import { PVSC_EXTENSION_ID, type PythonExtension } from "@vscode/python-extension";
import * as vscode from "vscode";

/**
 * Returns the interpreter selected for the first folder; undefined without the Python extension or a
 * selection.
 */
export async function selectedPython(): Promise<string | undefined> {
  const api = await pythonApi();
  if (api === undefined) {
    return undefined;
  }
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const environment = await api.environments.resolveEnvironment(
    api.environments.getActiveEnvironmentPath(folder),
  );
  return environment?.executable.uri?.fsPath;
}

/** Calls `changed` when another environment is selected, once the Python extension is active. */
export async function onSelectedPython(changed: () => void): Promise<vscode.Disposable | undefined> {
  const api = await pythonApi();
  return api?.environments.onDidChangeActiveEnvironmentPath(changed);
}

/** Opens the Python extension's picker, or the setting with the path of an interpreter. */
export async function choosePython(): Promise<void> {
  if (vscode.extensions.getExtension(PVSC_EXTENSION_ID) === undefined) {
    // The setting belongs to the machine that runs the server.
    const settings = vscode.env.remoteName === undefined ? "openSettings" : "openRemoteSettings";
    await vscode.commands.executeCommand(`workbench.action.${settings}`, { query: "promptls.server.python" });
  } else {
    await vscode.commands.executeCommand("python.setInterpreter");
  }
}

async function pythonApi(): Promise<PythonExtension | undefined> {
  const extension = vscode.extensions.getExtension<PythonExtension>(PVSC_EXTENSION_ID);
  return extension === undefined ? undefined : await extension.activate();
}
