/** Webview panels, and the page in each: only the extension's own script and style. */

import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";

import * as vscode from "vscode";

/** The open panels. */
const panels = new Set<vscode.WebviewPanel>();

/** Opens a panel beside the editor, without focus; over another panel if there is one. */
export function panelBeside(viewType: string, title: string): vscode.WebviewPanel {
  const editor = vscode.window.activeTextEditor?.viewColumn;
  const other = [...panels].find(({ visible, viewColumn }) => visible && viewColumn !== editor);
  const place = { viewColumn: other?.viewColumn ?? vscode.ViewColumn.Beside, preserveFocus: true };
  return vscode.window.createWebviewPanel(viewType, title, place, {
    enableScripts: true,
    retainContextWhenHidden: true,
  });
}

/** Sets a panel's icon and the permissions of its page, before the page loads. */
export function preparePanel(panel: vscode.WebviewPanel, extension: vscode.Uri, icon: string): void {
  panel.iconPath = vscode.Uri.joinPath(extension, "icons", `${icon}.svg`);
  panel.webview.options = { enableScripts: true, localResourceRoots: [] };
  panels.add(panel);
  panel.onDidDispose(() => panels.delete(panel));
}

/**
 * Loads the page into a panel whose messages have a listener; the page sends a message when it is ready. The
 * page embeds `first` as its first message, because posted messages arrive after the first paint.
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

/** Copies a text of a page to the clipboard; `what` describes it for the user. */
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

/** The files of the pages; they do not change while the extension runs. */
const built = new Map<string, string>();

/**
 * Returns the HTML of a panel whose front end is built from `web/src/<name>/`. Script and style are
 * inlined: separate files would be fetched from the extension's machine, through the window.
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

/** A built script or style sheet; esbuild writes no `</script>` or `</style>` into it. */
function textOf(extension: vscode.Uri, file: string): string {
  const known =
    built.get(file) ?? readFileSync(vscode.Uri.joinPath(extension, "out", "webview", file).fsPath, "utf8");
  built.set(file, known);
  return known;
}
