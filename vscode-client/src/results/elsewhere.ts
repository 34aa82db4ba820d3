/** Runs that were begun elsewhere, such as in a terminal: how far they are, and when one has ended. */

import * as vscode from "vscode";

import { latestOnly } from "../latest";
import type { Session } from "../session";
import type { RunningRun } from "./messages";
import type { ResultsArguments } from "./view";

/** Journals of runs that go on, and manifests of those that have ended. */
const FILES = "*.{json,jsonl}";
const PAUSE_MILLISECONDS = 200;
/** A run that is killed changes no file, and on network drives no change is told. */
const AGAIN_MILLISECONDS = 1000;

interface GoingOn {
  folder: string;
  runs: RunningRun[];
}

export class RunsElsewhere implements vscode.Disposable {
  readonly #session: Session;
  readonly #goOn: (runs: readonly RunningRun[]) => void;
  readonly #look = latestOnly(() => this.#lookNow(), PAUSE_MILLISECONDS);
  readonly #ended: { request(): void; dispose(): void };
  #argument: ResultsArguments | undefined;
  #folder: string | undefined;
  #watcher: vscode.Disposable | undefined;
  #again: NodeJS.Timeout | undefined;

  /** `goOn` hears of all runs that go on, each time; `ended` that results have come, gone or changed. */
  constructor(session: Session, goOn: (runs: readonly RunningRun[]) => void, ended: () => void) {
    this.#session = session;
    this.#goOn = goOn;
    this.#ended = latestOnly(async () => {
      ended();
      return Promise.resolve();
    }, PAUSE_MILLISECONDS);
  }

  /** Follows the folder of the runs that are asked for, and no other one from now on. */
  follow(argument: ResultsArguments): void {
    this.#argument = argument;
    this.#look.request();
  }

  /** Follows nothing any more. */
  stop(): void {
    this.#argument = undefined;
    this.#folder = undefined;
    this.#watcher?.dispose();
    this.#watcher = undefined;
    clearTimeout(this.#again);
  }

  dispose(): void {
    this.stop();
    this.#look.dispose();
    this.#ended.dispose();
  }

  async #lookNow(): Promise<void> {
    const argument = this.#argument;
    if (argument === undefined || !this.#session.isRunning) {
      return;
    }
    // The view of the same runs says what is wrong with them.
    const found = await this.#session.execute<GoingOn>("promptls.resultsGoingOn", argument).catch(() => undefined);
    if (found === undefined || argument !== this.#argument) {
      return;
    }
    this.#watch(found.folder);
    this.#goOn(found.runs);
    clearTimeout(this.#again);
    if (found.runs.length > 0) {
      this.#again = setTimeout(() => {
        this.#look.request();
      }, AGAIN_MILLISECONDS);
    }
  }

  #watch(folder: string): void {
    if (folder === this.#folder) {
      return;
    }
    this.#folder = folder;
    this.#watcher?.dispose();
    const watcher = vscode.workspace.createFileSystemWatcher(new vscode.RelativePattern(vscode.Uri.file(folder), FILES));
    const changed = ({ path }: vscode.Uri): void => {
      this.#look.request();
      if (path.endsWith(".json")) {
        this.#ended.request();
      }
    };
    const events = [watcher.onDidCreate, watcher.onDidChange, watcher.onDidDelete];
    this.#watcher = vscode.Disposable.from(watcher, ...events.map((event) => event(changed)));
  }
}
