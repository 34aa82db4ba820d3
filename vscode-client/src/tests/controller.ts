/** The Test Explorer: shows the experiments of a trusted workspace as tests, and runs them. */

import { errorMessage } from "@promptls/web/shared/errorMessage";
import * as vscode from "vscode";

import type { Client } from "../client";
import { debounce } from "../debounce";
import { PROMPTS, RUNS, watchFiles } from "../files";
import { KnownResults } from "./results";
import { TestRuns } from "./runs";
import { TestTree } from "./tree";

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
  readonly #subscriptions: vscode.Disposable;

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
    // Runs of this window show their own results.
    const refresh = debounce(async () => {
      if (this.#isIdle) {
        await this.#logged(tree.refresh().then(() => this.#showVisible()));
      }
    }, PAUSE_MILLISECONDS);
    const soon = () => refresh.request();
    this.#subscriptions = vscode.Disposable.from(
      controller,
      refresh,
      watchFiles([PROMPTS, RUNS], soon),
      client.onStarted(soon),
      vscode.window.onDidChangeVisibleTextEditors(() => {
        if (this.#isIdle) {
          void this.#logged(this.#showVisible());
        }
      }),
    );
    if (client.isRunning) {
      soon();
    }
  }

  dispose(): void {
    this.#subscriptions.dispose();
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
