/** The status bar: the server's state and source, and the token count of the active prompt. */

import type { TokensResult } from "@promptls/web/wire/commands";
import * as vscode from "vscode";

import { DOCUMENTS } from "./documents";
import { SERVER_MEGABYTES } from "./environment";
import type { ServerCommand } from "./server";
import { describeTokens } from "./tokens";

export class ServerStatus implements vscode.Disposable {
  readonly #item: vscode.LanguageStatusItem;
  /** Visible in every editor while there is no server, because a notification disappears. */
  readonly #missing: vscode.StatusBarItem;

  constructor() {
    this.#item = vscode.languages.createLanguageStatusItem("promptls.server", DOCUMENTS);
    this.#item.name = "promptls";
    this.#item.text = "promptls";
    this.#item.detail = "starts with the first prompt";
    this.#missing = vscode.window.createStatusBarItem("promptls.server", vscode.StatusBarAlignment.Left);
    this.#missing.name = "promptls Server";
    this.#missing.backgroundColor = new vscode.ThemeColor("statusBarItem.warningBackground");
  }

  starting(step: string): void {
    this.#show("promptls", step, vscode.LanguageStatusSeverity.Information, true);
  }

  running(server: ServerCommand, version: string): void {
    const name = version === "" ? "promptls" : `promptls ${version}`;
    this.#show(
      name,
      `from the ${server.source}: ${server.command}`,
      vscode.LanguageStatusSeverity.Information,
      false,
    );
  }

  notInstalled(): void {
    const detail = `the Python server, about ${SERVER_MEGABYTES} MB from PyPI`;
    this.#show("promptls: not installed", detail, vscode.LanguageStatusSeverity.Warning, false);
    this.#offer("promptls.installServer", "Install Server", `Install ${detail}`);
  }

  failed(message: string): void {
    this.#show("promptls: no server", message, vscode.LanguageStatusSeverity.Error, false);
    this.#offer("promptls.restartServer", "Restart Server", message);
  }

  #show(text: string, detail: string, severity: vscode.LanguageStatusSeverity, busy: boolean): void {
    this.#item.text = text;
    this.#item.detail = detail;
    this.#item.severity = severity;
    this.#item.busy = busy;
    this.#item.command = { command: "promptls.showLog", title: "Show Log" };
    this.#missing.hide();
  }

  #offer(command: string, title: string, tooltip: string): void {
    this.#item.command = { command, title };
    this.#missing.text = `$(warning) promptls: ${title}`;
    this.#missing.tooltip = tooltip;
    this.#missing.command = command;
    this.#missing.show();
  }

  dispose(): void {
    this.#item.dispose();
    this.#missing.dispose();
  }
}

export class TokenStatus implements vscode.Disposable {
  readonly #item: vscode.StatusBarItem;

  constructor() {
    this.#item = vscode.window.createStatusBarItem("promptls.tokens", vscode.StatusBarAlignment.Right, 90);
    this.#item.name = "Prompt Token Count";
    this.#item.command = "promptls.preview";
  }

  show(result: TokensResult): void {
    const { text, tooltip, over } = describeTokens(result);
    this.#item.text = text;
    this.#item.tooltip = new vscode.MarkdownString(tooltip);
    this.#item.backgroundColor = over ? new vscode.ThemeColor("statusBarItem.warningBackground") : undefined;
    this.#item.show();
  }

  hide(): void {
    this.#item.hide();
  }

  dispose(): void {
    this.#item.dispose();
  }
}
