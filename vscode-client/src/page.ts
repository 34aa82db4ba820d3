/** The pages of webview panels: only the extension's own script and style. */

import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";

import * as vscode from "vscode";

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
 * inlined: separate files would be fetched from the extension's machine, through the window. The page contains
 * `first` as its first message, because posted messages arrive after the first paint.
 */
export function pageOf(extension: vscode.Uri, name: string, title: string, first?: object): string {
  const embedded = first === undefined ? "" : JSON.stringify(first).replaceAll("<", "\\u003c");
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
  ${embedded === "" ? "" : `<script type="application/json" id="first">${embedded}</script>`}
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
