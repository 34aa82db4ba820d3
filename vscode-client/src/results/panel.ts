/** The results of an experiment's run: its scores and every row. */

import * as vscode from "vscode";

import { pageOf } from "../page";
import type { ResultsArguments, ResultsResult } from "../protocol";
import type { Session } from "../session";
import type { FromPage, ToPage } from "./messages";

export const RESULTS_VIEW = "promptls.results";

/** One panel a window, which shows the run that was asked for last. */
export class ResultsPanel implements vscode.Disposable {
  readonly #session: Session;
  readonly #extension: vscode.Uri;
  #panel: vscode.WebviewPanel | undefined;
  #argument: ResultsArguments | undefined;
  #uri: string | undefined;
  #run: string | undefined;

  constructor(session: Session, extension: vscode.Uri) {
    this.#session = session;
    this.#extension = extension;
  }

  /** Shows the run of an argument; `uri` is the prompt that can be run again from the panel. */
  async show(argument: ResultsArguments, uri: string | undefined): Promise<void> {
    this.#argument = argument;
    this.#uri = uri;
    if (this.#panel === undefined) {
      const panel = vscode.window.createWebviewPanel(
        RESULTS_VIEW,
        "Results",
        { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true },
        {
          enableScripts: true,
          localResourceRoots: [vscode.Uri.joinPath(this.#extension, "out", "webview")],
        },
      );
      panel.iconPath = vscode.Uri.joinPath(this.#extension, "icons", "results.svg");
      panel.webview.onDidReceiveMessage((message: FromPage) => this.#receive(message));
      panel.onDidDispose(() => {
        this.#panel = undefined;
      });
      this.#panel = panel;
      // The page asks when it is ready, here and each time it was hidden.
      panel.webview.html = pageOf(panel.webview, this.#extension, "results", "Results");
    } else {
      this.#panel.reveal(undefined, true);
      await this.#ask();
    }
  }

  dispose(): void {
    this.#panel?.dispose();
  }

  async #ask(): Promise<void> {
    if (this.#argument === undefined || this.#panel === undefined) {
      return;
    }
    try {
      const result = await this.#session.execute<ResultsResult | null>("promptls.showResults", this.#argument);
      if (result === null) {
        this.#post({ type: "fail", message: "There are no results yet: run an experiment first." });
      } else {
        this.#run = result.run;
        this.#panel.title = `Results ${result.name}`;
        this.#post({ type: "show", result });
      }
    } catch (error) {
      this.#post({ type: "fail", message: error instanceof Error ? error.message : String(error) });
    }
  }

  async #receive(message: FromPage): Promise<void> {
    switch (message.type) {
      case "ready":
        await this.#ask();
        return;
      case "openRun":
        if (this.#run !== undefined) {
          await vscode.commands.executeCommand("vscode.open", vscode.Uri.file(this.#run));
        }
        return;
      case "runAgain":
        if (this.#uri !== undefined) {
          await vscode.commands.executeCommand("promptls.runExperiment", { uri: this.#uri });
        }
        return;
      case "copy":
        await vscode.env.clipboard.writeText(message.text);
        vscode.window.setStatusBarMessage(`$(check) Copied ${message.what}`, 3000);
    }
  }

  #post(message: ToPage): void {
    void this.#panel?.webview.postMessage(message);
  }
}
