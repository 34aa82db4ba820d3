/** The truncation lab: the effect of limits and steps on a growing chat. */

import * as path from "node:path";

import { errorMessage } from "@promptls/web/shared/errorMessage";
import type { FromPage, ToPage } from "@promptls/web/truncation/messages";
import type { ApplyTruncationArguments, LabOptions, LabResult } from "@promptls/web/wire/preview";
import * as vscode from "vscode";

import type { Client } from "../client";
import { copyText, loadPage, panelBeside, preparePanel } from "../page";

export const TRUNCATION_VIEW = "promptls.truncationLab";
const TITLE = "Truncation Lab";

/** One panel per window, for the last requested prompt. */
export class TruncationPanel implements vscode.Disposable {
  readonly #client: Client;
  readonly #extension: vscode.Uri;
  readonly #kept: vscode.Memento;
  readonly #changes: vscode.Disposable;
  #panel: vscode.WebviewPanel | undefined;
  #uri: string | undefined;
  #options: LabOptions = {};
  #requests = 0;

  constructor(client: Client, { extensionUri, workspaceState }: vscode.ExtensionContext) {
    this.#client = client;
    this.#extension = extensionUri;
    this.#kept = workspaceState;
    this.#changes = client.onChanged(({ uri }) => {
      if (uri === this.#uri) {
        this.#post({ type: "stale" });
      }
    });
  }

  /** Shows the lab beside a prompt. */
  show(uri: string): void {
    const isOther = uri !== this.#uri;
    this.#uri = uri;
    if (isOther) {
      this.#options = {};
    }
    void this.#kept.update(TRUNCATION_VIEW, uri);
    if (this.#panel === undefined) {
      this.#adopt(panelBeside(TRUNCATION_VIEW, TITLE));
    } else {
      this.#panel.reveal(undefined, true);
      void this.#explore();
    }
    this.#name();
  }

  /** Restores a panel after a reload. */
  restore(panel: vscode.WebviewPanel): void {
    this.#uri = this.#kept.get<string>(TRUNCATION_VIEW);
    if (this.#uri === undefined) {
      panel.dispose();
      return;
    }
    this.#adopt(panel);
    this.#name();
  }

  #adopt(panel: vscode.WebviewPanel): void {
    panel.webview.onDidReceiveMessage((message: FromPage) => this.#receive(message));
    panel.onDidDispose(() => {
      this.#panel = undefined;
      this.#uri = undefined;
    });
    this.#panel = panel;
    preparePanel(panel, this.#extension, "results");
    loadPage(panel, this.#extension, "truncation", TITLE);
  }

  #name(): void {
    if (this.#panel !== undefined && this.#uri !== undefined) {
      this.#panel.title = `Truncation ${path.posix.basename(vscode.Uri.parse(this.#uri).path)}`;
    }
  }

  dispose(): void {
    this.#changes.dispose();
    this.#panel?.dispose();
  }

  async #explore(): Promise<void> {
    const uri = this.#uri;
    if (uri === undefined) {
      return;
    }
    this.#requests += 1;
    const number = this.#requests;
    this.#post({ type: "busy" });
    try {
      const argument = { uri, ...this.#options };
      const result = await this.#client.executeWithProgress<LabResult>(
        "promptls.truncationLab",
        argument,
        "Truncation lab",
      );
      if (number === this.#requests) {
        this.#post({ type: "show", result });
      }
    } catch (error) {
      if (number === this.#requests) {
        this.#post({ type: "fail", message: errorMessage(error) });
      }
    }
  }

  async #apply(limit: number, step: number): Promise<void> {
    const uri = this.#uri;
    if (uri === undefined) {
      return;
    }
    const argument: ApplyTruncationArguments = { uri, limit, step };
    try {
      await this.#client.execute("promptls.applyTruncation", argument);
      this.#post({ type: "applied" });
    } catch (error) {
      this.#post({ type: "fail", message: errorMessage(error) });
    }
  }

  async #receive(message: FromPage): Promise<void> {
    switch (message.type) {
      case "ready":
        await this.#explore();
        return;
      case "explore":
        this.#options = message.options;
        await this.#explore();
        return;
      case "apply":
        await this.#apply(message.limit, message.step);
        return;
      case "copy":
        await copyText(message.text, message.what);
    }
  }

  #post(message: ToPage): void {
    void this.#panel?.webview.postMessage(message);
  }
}
