/** Files of the workspace. */

import { posix } from "node:path";

import * as vscode from "vscode";

export const PROMPTS = "**/*.{yml,yaml}.j2";
/** Manifests of finished runs; no other folders have that name. */
export const RUNS = "**/experiments/*.json";

export async function exists(uri: vscode.Uri): Promise<boolean> {
  return vscode.workspace.fs.stat(uri).then(
    () => true,
    () => false,
  );
}

/** Calls a function when a file is created, changed or deleted. */
export function watchFiles(
  globs: readonly vscode.GlobPattern[],
  changed: (uri: vscode.Uri) => void,
): vscode.Disposable {
  const watchers = globs.map((glob) => vscode.workspace.createFileSystemWatcher(glob));
  const events = watchers.flatMap(({ onDidCreate, onDidChange, onDidDelete }) => [
    onDidCreate,
    onDidChange,
    onDidDelete,
  ]);
  return vscode.Disposable.from(...watchers, ...events.map((event) => event(changed)));
}

/** Returns the folder of a file, relative to the workspace; empty for the workspace folder itself. */
export function folderOf(uri: vscode.Uri): string {
  const folder = posix.dirname(vscode.workspace.asRelativePath(uri));
  return folder === "." ? "" : folder;
}
