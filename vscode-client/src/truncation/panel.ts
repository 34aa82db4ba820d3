/** The truncation lab: the effect of limits and steps on a growing chat. */

import { errorMessage } from "@promptls/web/shared/errorMessage";
import { baseName } from "@promptls/web/shared/format";
import type { FromPage, ToPage } from "@promptls/web/truncation/messages";
import type { ApplyTruncationArguments, LabOptions, LabResult } from "@promptls/web/wire/preview";
import * as vscode from "vscode";

import type { Client } from "../client";
import { PagePanel } from "../panel";

/** Shows the last requested prompt. */
export class TruncationPanel implements vscode.Disposable {
  readonly #client: Client;
  readonly #panel: PagePanel<FromPage, ToPage, string>;
  readonly #subscriptions: vscode.Disposable;
  #uri: string | undefined;
  #options: LabOptions = {};
  #requests = 0;

  constructor(client: Client, context: vscode.ExtensionContext) {
    this.#client = client;
    this.#panel = new PagePanel(context, {
      view: "promptls.truncationLab",
      page: "truncation",
      icon: "results",
      title: "Truncation Lab",
      receive: (message) => this.#receive(message),
      restore: (uri) => this.#choose(uri),
      closed: () => {
        this.#uri = undefined;
      },
    });
    this.#subscriptions = vscode.Disposable.from(
      this.#panel,
      client.onChanged(({ uri }) => {
        if (uri === this.#uri) {
          this.#panel.post({ type: "stale" });
        }
      }),
    );
  }

  /** Shows the lab beside a prompt. */
  show(uri: string): void {
    this.#choose(uri);
    if (this.#panel.reveal()) {
      void this.#explore();
    }
  }

  dispose(): void {
    this.#subscriptions.dispose();
  }

  #choose(uri: string): void {
    if (uri !== this.#uri) {
      this.#options = {};
    }
    this.#uri = uri;
    this.#panel.title = `Truncation ${baseName(uri)}`;
    this.#panel.remember(uri);
  }

  async #explore(): Promise<void> {
    const uri = this.#uri;
    if (uri === undefined) {
      return;
    }
    this.#requests += 1;
    const number = this.#requests;
    this.#panel.post({ type: "busy" });
    try {
      const argument = { uri, ...this.#options };
      const result = await this.#client.executeWithProgress<LabResult>(
        "promptls.truncationLab",
        argument,
        "Truncation lab",
      );
      if (number === this.#requests) {
        this.#panel.post({ type: "show", result });
      }
    } catch (error) {
      if (number === this.#requests) {
        this.#panel.post({ type: "fail", message: errorMessage(error) });
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
      this.#panel.post({ type: "applied" });
    } catch (error) {
      this.#panel.post({ type: "fail", message: errorMessage(error) });
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
    }
  }
}
