/** The panels, and the page that each shows: our own script and style, and nothing from anywhere else. */

import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";

import * as vscode from "vscode";

/** Opens a panel beside the editor, which keeps the focus. */
export function panelBeside(viewType: string, title: string): vscode.WebviewPanel {
  const place = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
  return vscode.window.createWebviewPanel(viewType, title, place, { enableScripts: true, retainContextWhenHidden: true });
}

/** Loads the page into a panel whose messages are listened to; it says when it is ready. */
export function loadPage(panel: vscode.WebviewPanel, extension: vscode.Uri, name: string, title: string, icon: string): void {
  panel.iconPath = vscode.Uri.joinPath(extension, "icons", `${icon}.svg`);
  panel.webview.options = { enableScripts: true, localResourceRoots: [] };
  panel.webview.html = pageOf(extension, name, title);
}

/** What the extension's files of pages hold: they do not change while it runs. */
const built = new Map<string, string>();

/**
 * Returns the HTML of the panel whose front end is built from `src/webview/<name>/`.
 *
 * Script and style stand in it: files of their own would be fetched from the extension's machine, through the window.
 */
function pageOf(extension: vscode.Uri, name: string, title: string): string {
  const nonce = randomBytes(16).toString("base64url");
  const policy = `default-src 'none'; style-src 'nonce-${nonce}'; script-src 'nonce-${nonce}'`;
  return `<!DOCTYPE html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta http-equiv="Content-Security-Policy" content="${policy}">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>${title}</title>
  <style nonce="${nonce}">${textOf(extension, `${name}-style.css`)}</style>
</head>
<body>
  <div id="root"></div>
  <script nonce="${nonce}">${textOf(extension, `${name}.js`)}</script>
</body>
</html>`;
}

/** A built script or style; esbuild writes no `</script>` or `</style>` into it. */
function textOf(extension: vscode.Uri, file: string): string {
  const known = built.get(file) ?? readFileSync(vscode.Uri.joinPath(extension, "out", "webview", file).fsPath, "utf8");
  built.set(file, known);
  return known;
}
