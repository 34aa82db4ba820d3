/** The results of an experiment's runs: scores, rows, comparison. */

import { randomUUID } from "node:crypto";
import * as path from "node:path";

import { type FromPage, type Page, QUESTIONS, type ToPage } from "@promptls/web/results/messages";
import { errorMessage } from "@promptls/web/shared/errorMessage";
import type {
  ExportAnswer,
  NoResults,
  ResultsArguments,
  ResultsView,
  RunningRun,
} from "@promptls/web/wire/results";
import * as vscode from "vscode";

import type { Client } from "../client";
import { PagePanel } from "../panel";
import { RunsElsewhere } from "./elsewhere";

/** Shows the last requested runs. */
export class ResultsPanel implements vscode.Disposable {
  readonly #client: Client;
  readonly #panel: PagePanel<FromPage, ToPage, ResultsArguments>;
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

  constructor(client: Client, context: vscode.ExtensionContext) {
    this.#client = client;
    this.#panel = new PagePanel(context, {
      view: "promptls.results",
      page: "results",
      icon: "results",
      title: "Results",
      receive: (message) => this.#receive(message),
      questions: QUESTIONS,
      answer: (command, argument) => client.execute(command, argument),
      restore: (argument) => this.#choose(argument),
      closed: () => this.#elsewhere.stop(),
    });
    this.#elsewhere = new RunsElsewhere(
      client,
      (runs) => {
        this.#others = runs;
        this.#sendRunning();
      },
      () => void this.#ask(),
    );
  }

  /** Shows the runs of an argument, on the given page or on the last one. */
  async show(argument: ResultsArguments, page?: Page): Promise<void> {
    this.#choose(argument);
    this.#page = page;
    if (this.#panel.reveal()) {
      await this.#ask();
    }
  }

  /** Shows the progress of a run. */
  running(run: symbol, experiment: string, message: string, share: number): void {
    const id = this.#running.get(run)?.id ?? randomUUID();
    // It is cancelled from its notification.
    this.#running.set(run, { id, experiment, message, share, canCancel: false });
    this.#sendRunning();
  }

  /** The run has ended, in any way. */
  ended(run: symbol): void {
    if (this.#running.delete(run)) {
      this.#sendRunning();
    }
  }

  #sendRunning(): void {
    this.#panel.post({ type: "running", runs: [...this.#running.values(), ...this.#others] });
  }

  dispose(): void {
    this.#panel.dispose();
    this.#elsewhere.dispose();
  }

  #choose(argument: ResultsArguments): void {
    this.#argument = argument;
    this.#panel.remember(argument);
    this.#isLatest = false;
    this.#elsewhere.follow(argument);
  }

  async #ask(): Promise<void> {
    if (this.#argument === undefined || !this.#panel.isOpen) {
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
          this.#panel.post({ type: "fail", message: errorMessage(error) });
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
      this.#panel.title = `Results ${view.name}`;
      this.#panel.post({ type: "nothing", prompt: view.prompt, name: view.name });
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
    this.#panel.title = `Results ${view.runs.at(-1)?.name ?? ""}`;
    this.#panel.post({ type: "show", view, page: this.#page });
    this.#page = undefined;
  }

  async #receive(message: FromPage): Promise<void> {
    switch (message.type) {
      case "ready":
        this.#sendRunning();
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
      case "confirm":
      case "cancelRun":
      // Only a page in a browser sends these: in the editor, a run has a notification.
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
      const { rows } = await this.#client.execute<ExportAnswer>("promptls.exportResults", {
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
}
