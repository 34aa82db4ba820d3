/** The panels, and the page that each shows: our own script and style, and nothing from anywhere else. */

import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";

import * as vscode from "vscode";

/** The panels that are open. */
const panels = new Set<vscode.WebviewPanel>();

/** Opens a panel beside the editor, which keeps the focus; where another panel is shown there, over that one. */
export function panelBeside(viewType: string, title: string): vscode.WebviewPanel {
  const editor = vscode.window.activeTextEditor?.viewColumn;
  const other = [...panels].find(({ visible, viewColumn }) => visible && viewColumn !== editor);
  const place = { viewColumn: other?.viewColumn ?? vscode.ViewColumn.Beside, preserveFocus: true };
  return vscode.window.createWebviewPanel(viewType, title, place, {
    enableScripts: true,
    retainContextWhenHidden: true,
  });
}

/** Gives a panel its icon and says what its page may do, before the page is there. */
export function preparePanel(panel: vscode.WebviewPanel, extension: vscode.Uri, icon: string): void {
  panel.iconPath = vscode.Uri.joinPath(extension, "icons", `${icon}.svg`);
  panel.webview.options = { enableScripts: true, localResourceRoots: [] };
  panels.add(panel);
  panel.onDidDispose(() => panels.delete(panel));
}

/**
 * Loads the page into a panel whose messages have a listener; the page sends one when it is ready. It contains `first`
 * as its first message, because posted messages arrive after the page is first painted.
 */
export function loadPage(
  panel: vscode.WebviewPanel,
  extension: vscode.Uri,
  name: string,
  title: string,
  first?: object,
): void {
  panel.webview.html = pageOf(
    extension,
    name,
    title,
    first === undefined ? undefined : JSON.stringify(first),
  );
}

/** Puts a text of a page into the clipboard; `what` describes it for the user. */
export async function copyText(text: string, what: string): Promise<void> {
  await vscode.env.clipboard.writeText(text);
  vscode.window.setStatusBarMessage(`$(check) Copied ${what}`, 3000);
}

/** Whether a message is small enough to be embedded in the page. */
export function fitsInPage(message: object): boolean {
  return JSON.stringify(message).length <= LONGEST_FIRST;
}

/** Maximum length of an embedded message, in characters. Longer ones are faster to post. */
const LONGEST_FIRST = 300_000;

/** What the extension's files of pages hold: they do not change while it runs. */
const built = new Map<string, string>();

/**
 * Returns the HTML of the panel whose front end is built from `src/webview/<name>/`.
 *
 * Script and style are inlined: separate files would be fetched from the extension's machine, through the window.
 */
function pageOf(extension: vscode.Uri, name: string, title: string, first: string | undefined): string {
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
  ${first === undefined ? "" : `<script type="application/json" id="first">${first.replaceAll("<", "\\u003c")}</script>`}
  <script nonce="${nonce}">${textOf(extension, `${name}.js`)}</script>
</body>
</html>`;
}

/** A built script or style; esbuild writes no `</script>` or `</style>` into it. */
function textOf(extension: vscode.Uri, file: string): string {
  const known =
    built.get(file) ?? readFileSync(vscode.Uri.joinPath(extension, "out", "webview", file).fsPath, "utf8");
  built.set(file, known);
  return known;
}
