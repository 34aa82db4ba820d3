/** Runs started elsewhere, such as in a terminal: their progress and their end. */

import type { ResultsArguments, RunningAnswer, RunningRun } from "@promptls/web/wire/results";
import * as vscode from "vscode";

import type { Client } from "../client";
import { debounce } from "../debounce";
import { watchFiles } from "../files";

/** Manifests of finished runs, and the store of running ones with its write-ahead log. */
const FILES = "{*.json,.cache/results.sqlite*}";
const PAUSE_MILLISECONDS = 200;
/** A killed run changes no file, and network drives report no changes. */
const AGAIN_MILLISECONDS = 1000;

export class RunsElsewhere implements vscode.Disposable {
  readonly #client: Client;
  readonly #onRunning: (runs: readonly RunningRun[]) => void;
  readonly #look = debounce(() => this.#lookNow(), PAUSE_MILLISECONDS);
  readonly #ended: { request(): void; dispose(): void };
  #argument: ResultsArguments | undefined;
  #folder: string | undefined;
  #watcher: vscode.Disposable | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** `onRunning` is called with all runs in progress; `ended` when results were added, removed or changed. */
  constructor(client: Client, onRunning: (runs: readonly RunningRun[]) => void, ended: () => void) {
    this.#client = client;
    this.#onRunning = onRunning;
    this.#ended = debounce(ended, PAUSE_MILLISECONDS);
  }

  /** Watches the folder of the requested runs instead of the previous one. */
  follow(argument: ResultsArguments): void {
    this.#argument = argument;
    this.#look.request();
  }

  /** Stops watching. */
  stop(): void {
    this.#argument = undefined;
    this.#folder = undefined;
    this.#watcher?.dispose();
    this.#watcher = undefined;
    clearTimeout(this.#timer);
  }

  dispose(): void {
    this.stop();
    this.#look.dispose();
    this.#ended.dispose();
  }

  async #lookNow(): Promise<void> {
    const argument = this.#argument;
    if (argument === undefined || !this.#client.isRunning) {
      return;
    }
    // The view of the same runs reports the error.
    const found = await this.#client
      .execute<RunningAnswer>("promptls.resultsGoingOn", argument)
      .catch(() => undefined);
    if (found === undefined || argument !== this.#argument) {
      return;
    }
    this.#watch(found.folder);
    this.#onRunning(found.runs);
    clearTimeout(this.#timer);
    if (found.runs.length > 0) {
      this.#timer = setTimeout(() => this.#look.request(), AGAIN_MILLISECONDS);
    }
  }

  #watch(folder: string): void {
    if (folder === this.#folder) {
      return;
    }
    this.#folder = folder;
    this.#watcher?.dispose();
    const files = new vscode.RelativePattern(vscode.Uri.file(folder), FILES);
    this.#watcher = watchFiles([files], ({ path }) => {
      this.#look.request();
      if (path.endsWith(".json")) {
        this.#ended.request();
      }
    });
  }
}
