/** The panels, and the page that each shows: our own script and style, and nothing from anywhere else. */

import { randomBytes } from "node:crypto";

import * as vscode from "vscode";

/** Opens a panel beside the editor, which keeps the focus. */
export function panelBeside(viewType: string, title: string): vscode.WebviewPanel {
  const place = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
  return vscode.window.createWebviewPanel(viewType, title, place, { enableScripts: true, retainContextWhenHidden: true });
}

/** Loads the page into a panel whose messages are listened to; it says when it is ready. */
export function loadPage(panel: vscode.WebviewPanel, extension: vscode.Uri, name: string, title: string, icon: string): void {
  panel.iconPath = vscode.Uri.joinPath(extension, "icons", `${icon}.svg`);
  panel.webview.options = {
    enableScripts: true,
    localResourceRoots: [vscode.Uri.joinPath(extension, "out", "webview")],
  };
  panel.webview.html = pageOf(panel.webview, extension, name, title);
}

/** Returns the HTML of the panel whose front end is built from `src/webview/<name>/`. */
function pageOf(webview: vscode.Webview, extension: vscode.Uri, name: string, title: string): string {
  const nonce = randomBytes(16).toString("base64url");
  const built = (file: string) => webview.asWebviewUri(vscode.Uri.joinPath(extension, "out", "webview", file)).toString();
  const policy = `default-src 'none'; style-src ${webview.cspSource}; script-src 'nonce-${nonce}'`;
  return `<!DOCTYPE html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta http-equiv="Content-Security-Policy" content="${policy}">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>${title}</title>
  <link rel="stylesheet" href="${built(`${name}-style.css`)}">
</head>
<body>
  <div id="root"></div>
  <script nonce="${nonce}" src="${built(`${name}.js`)}"></script>
</body>
</html>`;
}
