/** The results of an experiment's runs: scores, rows, comparison. */

import { randomUUID } from "node:crypto";
import * as path from "node:path";

import { type FromPage, type Page, QUESTIONS, type ToPage } from "@promptls/web/results/messages";
import { errorMessage } from "@promptls/web/shared/errorMessage";
import type { NoResults, ResultsArguments, ResultsView, RunningRun } from "@promptls/web/wire/results";
import * as vscode from "vscode";

import type { Client } from "../client";
import { copyText, loadPage, panelBeside, preparePanel } from "../page";
import { RunsElsewhere } from "./elsewhere";

export const RESULTS_VIEW = "promptls.results";
const TITLE = "Results";

/** One panel per window, for the last requested runs. */
export class ResultsPanel implements vscode.Disposable {
  readonly #client: Client;
  readonly #extension: vscode.Uri;
  readonly #kept: vscode.Memento;
  #panel: vscode.WebviewPanel | undefined;
  #argument: ResultsArguments | undefined;
  #page: Page | undefined;
  #requests = 0;
  /** The running runs of this window, by what started them. */
  readonly #running = new Map<symbol, RunningRun>();
  /** The running runs started elsewhere. */
  #others: readonly RunningRun[] = [];
  readonly #elsewhere: RunsElsewhere;
  /** Whether the latest run is shown, and replaced by the next one when that ends. */
  #isLatest = false;

  constructor(client: Client, { extensionUri, workspaceState }: vscode.ExtensionContext) {
    this.#client = client;
    this.#extension = extensionUri;
    this.#kept = workspaceState;
    this.#elsewhere = new RunsElsewhere(
      client,
      (runs) => {
        this.#others = runs;
        this.#tellRunning();
      },
      () => void this.#ask(),
    );
  }

  /** Shows the runs of an argument, on the given page or on the last one. */
  async show(argument: ResultsArguments, page?: Page): Promise<void> {
    this.#choose(argument);
    this.#page = page;
    if (this.#panel === undefined) {
      this.#adopt(panelBeside(RESULTS_VIEW, TITLE));
    } else {
      this.#panel.reveal(undefined, true);
      await this.#ask();
    }
  }

  /** Restores a panel after a reload. */
  restore(panel: vscode.WebviewPanel): void {
    const argument = this.#kept.get<ResultsArguments>(RESULTS_VIEW);
    if (argument === undefined) {
      panel.dispose();
      return;
    }
    this.#choose(argument);
    this.#adopt(panel);
  }

  #adopt(panel: vscode.WebviewPanel): void {
    panel.webview.onDidReceiveMessage((message: FromPage) => this.#receive(message));
    panel.onDidDispose(() => {
      this.#panel = undefined;
      this.#elsewhere.stop();
    });
    this.#panel = panel;
    preparePanel(panel, this.#extension, "results");
    loadPage(panel, this.#extension, "results", TITLE);
  }

  /** Shows the progress of a run. */
  running(run: symbol, experiment: string, message: string, share: number): void {
    const id = this.#running.get(run)?.id ?? randomUUID();
    // It is cancelled from its notification.
    this.#running.set(run, { id, experiment, message, share, canCancel: false });
    this.#tellRunning();
  }

  /** The run has ended, in any way. */
  ended(run: symbol): void {
    if (this.#running.delete(run)) {
      this.#tellRunning();
    }
  }

  #tellRunning(): void {
    this.#post({ type: "running", runs: [...this.#running.values(), ...this.#others] });
  }

  dispose(): void {
    this.#panel?.dispose();
    this.#elsewhere.dispose();
  }

  #choose(argument: ResultsArguments): void {
    this.#argument = argument;
    void this.#kept.update(RESULTS_VIEW, argument);
    this.#isLatest = false;
    this.#elsewhere.follow(argument);
  }

  async #ask(): Promise<void> {
    if (this.#argument === undefined || this.#panel === undefined) {
      return;
    }
    this.#requests += 1;
    const number = this.#requests;
    // Long tables take time; the content of the manifests is available immediately.
    const ask = async (quick: boolean): Promise<void> => {
      try {
        const view = await this.#client.execute<ResultsView | NoResults>("promptls.showResults", {
          ...this.#argument,
          quick,
        });
        if (number === this.#requests) {
          await this.#show(view);
        }
      } catch (error) {
        // The whole view fails too, and reports it.
        if (number === this.#requests && !quick) {
          this.#post({ type: "fail", message: errorMessage(error) });
        }
      }
    };
    // One after the other: in parallel, each would take as long as both.
    await ask(true);
    if (number === this.#requests) {
      await ask(false);
    }
  }

  async #show(view: ResultsView | NoResults): Promise<void> {
    if ("prompt" in view) {
      if (this.#panel !== undefined) {
        this.#panel.title = `Results ${view.name}`;
      }
      this.#post({ type: "nothing", prompt: view.prompt, name: view.name });
      return;
    }
    const latest = view.history.at(-1)?.path;
    const shown = view.runs.at(-1)?.path;
    if (this.#isLatest && latest !== undefined && latest !== shown) {
      // A run has ended meanwhile: it replaces the previous latest one.
      this.#choose({ run: latest });
      await this.#ask();
      return;
    }
    // A comparison chosen by the user stays.
    this.#isLatest = latest === shown && this.#argument?.against === undefined;
    if (this.#panel !== undefined) {
      this.#panel.title = `Results ${view.runs.at(-1)?.name ?? ""}`;
      this.#post({ type: "show", view, page: this.#page });
      this.#page = undefined;
    }
  }

  async #receive(message: FromPage): Promise<void> {
    switch (message.type) {
      case "ready":
        this.#tellRunning();
        await this.#ask();
        if (this.#argument !== undefined) {
          // The server is running now.
          this.#elsewhere.follow(this.#argument);
        }
        return;
      case "choose":
        this.#choose({ run: message.run, against: message.against });
        await this.#ask();
        return;
      case "open":
        await vscode.commands.executeCommand(
          "vscode.open",
          vscode.Uri.file(message.path),
          vscode.ViewColumn.One,
        );
        return;
      case "runAgain": {
        const { experiment, rows, fresh, complete } = message;
        const uri = vscode.Uri.file(message.prompt).toString();
        const again = JSON.parse(JSON.stringify({ uri, experiment, rows, fresh, complete })) as object;
        await vscode.commands.executeCommand("promptls.runExperiment", again);
        return;
      }
      case "export":
        await this.#export(message);
        return;
      case "ask":
        await this.#answer(message.id, message.question, message.argument);
        return;
      case "copy":
        await copyText(message.text, message.what);
        return;
      case "confirm":
      case "cancelRun":
      // Only a page in a browser sends these: in the editor, a run has a notification.
    }
  }

  /** Forwards an allowed request of the page to the server. */
  async #answer(id: number, question: string, argument: object): Promise<void> {
    const command = Object.entries(QUESTIONS).find(([name]) => name === question)?.[1];
    try {
      if (command === undefined) {
        throw new Error(`there is no question ${question}`);
      }
      this.#post({ type: "answer", id, result: await this.#client.execute<unknown>(command, argument) });
    } catch (error) {
      this.#post({ type: "answer", id, error: errorMessage(error) });
    }
  }

  /** Asks where to write the rows; the page never specifies a file. */
  async #export({ run, name, filter, form }: FromPage & { type: "export" }): Promise<void> {
    const ending = form === "junit" ? "xml" : form;
    const to = await vscode.window.showSaveDialog({
      defaultUri: vscode.Uri.file(path.join(path.dirname(run), `${name}-export.${ending}`)),
      filters: { [form === "junit" ? "JUnit" : form.toUpperCase()]: [ending] },
    });
    if (to === undefined) {
      return;
    }
    try {
      const { rows } = await this.#client.execute<{ rows: number }>("promptls.exportResults", {
        run,
        filter,
        form,
        to: to.fsPath,
      });
      vscode.window.setStatusBarMessage(`$(check) Wrote ${rows} rows to ${path.basename(to.fsPath)}`, 5000);
    } catch (error) {
      await vscode.window.showErrorMessage(`promptls: ${errorMessage(error)}`);
    }
  }

  #post(message: ToPage): void {
    void this.#panel?.webview.postMessage(message);
  }
}
