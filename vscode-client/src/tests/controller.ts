/** The Test Explorer: shows the experiments of a trusted workspace as tests, and runs them. */

import { errorMessage } from "@promptls/web/shared/errorMessage";
import * as vscode from "vscode";

import type { Client } from "../client";
import { KnownResults } from "./results";
import { TestRuns } from "./runs";
import { TestTree } from "./tree";

/** Manifests of finished runs; no other folders have that name. */
const RUNS = "**/experiments/*.json";
const PROMPTS = "**/*.{yml,yaml}.j2";
const PAUSE_MILLISECONDS = 500;

/**
 * Sends no request before the tests are opened or a server runs, and runs nothing without a request of the
 * user.
 */
export class ExperimentTests implements vscode.Disposable {
  readonly #client: Client;
  readonly #log: vscode.LogOutputChannel;
  readonly #tree: TestTree;
  readonly #runs: TestRuns;
  readonly #subscriptions: { dispose(): unknown }[] = [];
  #pause: NodeJS.Timeout | undefined;

  constructor(client: Client, log: vscode.LogOutputChannel) {
    this.#client = client;
    this.#log = log;
    const controller = vscode.tests.createTestController("promptls.experiments", "Prompt Experiments");
    const results = new KnownResults();
    const tree = new TestTree(client, controller, results);
    const testRuns = new TestRuns(client, controller, tree, results);
    this.#tree = tree;
    this.#runs = testRuns;
    controller.resolveHandler = (item) => this.#logged(item === undefined ? tree.list() : tree.resolve(item));
    controller.refreshHandler = () => this.#logged(tree.refresh());
    controller.createRunProfile(
      "Run",
      vscode.TestRunProfileKind.Run,
      (request, token) => testRuns.run(request, token),
      true,
    );
    const finished = vscode.workspace.createFileSystemWatcher(RUNS);
    const prompts = vscode.workspace.createFileSystemWatcher(PROMPTS);
    const soon = () => this.#soon();
    this.#subscriptions.push(
      controller,
      finished,
      prompts,
      ...[finished.onDidCreate, prompts.onDidCreate, prompts.onDidChange, prompts.onDidDelete].map((event) =>
        event(soon),
      ),
      client.onStarted(soon),
      vscode.window.onDidChangeVisibleTextEditors(() => {
        if (this.#isIdle) {
          void this.#logged(this.#showVisible());
        }
      }),
    );
    if (client.isRunning) {
      this.#soon();
    }
  }

  dispose(): void {
    clearTimeout(this.#pause);
    vscode.Disposable.from(...this.#subscriptions).dispose();
  }

  /**
   * Refreshes after a pause, because files often change several at once; runs of this window show their own
   * results.
   */
  #soon(): void {
    clearTimeout(this.#pause);
    this.#pause = setTimeout(() => {
      if (this.#isIdle) {
        void this.#logged(this.#tree.refresh().then(() => this.#showVisible()));
      }
    }, PAUSE_MILLISECONDS);
  }

  get #isIdle(): boolean {
    return !this.#runs.isRunning && this.#client.isRunning;
  }

  async #showVisible(): Promise<void> {
    for (const { document } of vscode.window.visibleTextEditors) {
      await this.#tree.show(document.uri.toString());
    }
  }

  async #logged(work: Promise<void>): Promise<void> {
    try {
      await work;
    } catch (error) {
      this.#log.error(`The tests cannot be listed: ${errorMessage(error)}`);
    }
  }
}
