/** Runs started from the Test Explorer: verdicts appear row by row. */

import { randomUUID } from "node:crypto";

import { errorMessage } from "@promptls/web/shared/errorMessage";
import type { ExperimentRows, RowVerdict, RowVerdictsResult, RunResult } from "@promptls/web/wire/commands";
import * as vscode from "vscode";

import type { Client } from "../client";
import { type RequestedRun, requestedRuns } from "./items";
import { type KnownResults, show } from "./results";
import type { TestTree } from "./tree";

/** The number of rows shown as running: a run processes several at once, in order. */
const AT_WORK = 8;

export class TestRuns {
  readonly #client: Client;
  readonly #controller: vscode.TestController;
  readonly #tree: TestTree;
  readonly #results: KnownResults;
  #running = 0;

  constructor(client: Client, controller: vscode.TestController, tree: TestTree, results: KnownResults) {
    this.#client = client;
    this.#controller = controller;
    this.#tree = tree;
    this.#results = results;
  }

  get isRunning(): boolean {
    return this.#running > 0;
  }

  /** Runs the tests of a request; errors go to the output of the test run. */
  async run(request: vscode.TestRunRequest, token: vscode.CancellationToken): Promise<void> {
    const run = this.#controller.createTestRun(request);
    this.#running += 1;
    try {
      if (this.#tree.isEmpty) {
        await this.#tree.list();
      }
      const chosen = request.include ?? [...this.#controller.items].map(([, item]) => item);
      const requests = requestedRuns(
        this.#tree.dataOf(chosen),
        (uri) => this.#tree.experimentsOf(uri),
        this.#tree.dataOf(request.exclude ?? []),
      );
      for (const each of requests) {
        if (token.isCancellationRequested) {
          break;
        }
        await this.#runOne(run, each, token);
      }
    } catch (error) {
      run.appendOutput(`${errorMessage(error)}\r\n`);
    } finally {
      this.#running -= 1;
      run.end();
    }
  }

  async #runOne(run: vscode.TestRun, request: RequestedRun, token: vscode.CancellationToken): Promise<void> {
    const { uri, experiment, rows } = request;
    const above = await this.#tree.experiment(uri, experiment);
    if (above === undefined) {
      return;
    }
    const progress = new RowProgress(run, this.#itemsOf(above, request));
    const follow = randomUUID();
    const news = this.#client.onVerdicts((event) => {
      if (event.follow === follow) {
        progress.take(event.verdicts);
      }
    });
    try {
      const argument = { uri, experiment, follow, ...(rows === undefined ? {} : { rows }) };
      const title = `Running ${experiment}`;
      const result = await this.#client.executeWithProgress<RunResult>(
        "promptls.runExperiment",
        argument,
        title,
        token,
      );
      run.appendOutput(`${result.message}\r\n`);
      if (result.run !== "") {
        const { verdicts } = await this.#client.execute<RowVerdictsResult>("promptls.rowVerdicts", {
          run: result.run,
        });
        progress.take(verdicts);
        this.#results.remember(
          above,
          await this.#client.execute<ExperimentRows>("promptls.experimentRows", { uri, experiment }),
        );
      }
    } catch (error) {
      // One message for the experiment instead of one for each of thousands of rows.
      run.errored(above, new vscode.TestMessage(errorMessage(error)));
      run.appendOutput(`${errorMessage(error).replaceAll("\n", "\r\n")}\r\n`);
    } finally {
      news.dispose();
      progress.end();
    }
  }

  /** Returns the tests of a run, by the numbers of their rows or examples. */
  #itemsOf(above: vscode.TestItem, request: RequestedRun): Map<number, vscode.TestItem> {
    const kind = request.examples ? "example" : "row";
    const found = new Map<number, vscode.TestItem>();
    for (const [, item] of above.children) {
      const [data] = this.#tree.dataOf([item]);
      if (data?.kind === kind && (request.numbers?.has(data.number) ?? true)) {
        found.set(data.number, item);
      }
    }
    return found;
  }
}

/** The tests of one run: waiting, running, or with a verdict. */
class RowProgress {
  readonly #run: vscode.TestRun;
  readonly #items: ReadonlyMap<number, vscode.TestItem>;
  readonly #waiting: Iterator<[number, vscode.TestItem]>;
  readonly #shown = new Map<number, string>();
  readonly #started = new Set<number>();

  /** Shows all tests as waiting, and the first ones as running. */
  constructor(run: vscode.TestRun, items: ReadonlyMap<number, vscode.TestItem>) {
    this.#run = run;
    this.#items = items;
    this.#waiting = items.entries();
    for (const item of items.values()) {
      run.enqueued(item);
    }
    this.#startSome();
  }

  /** Shows verdicts, each of them once. */
  take(verdicts: readonly RowVerdict[]): void {
    for (const verdict of verdicts) {
      const item = this.#items.get(verdict.number);
      const text = JSON.stringify(verdict);
      if (item !== undefined && this.#shown.get(verdict.number) !== text) {
        this.#shown.set(verdict.number, text);
        this.#started.delete(verdict.number);
        show(this.#run, item, verdict);
      }
    }
    this.#startSome();
  }

  /** Tests without a verdict were not run. */
  end(): void {
    for (const [number, item] of this.#items) {
      if (!this.#shown.has(number)) {
        this.#run.skipped(item);
      }
    }
  }

  #startSome(): void {
    while (this.#started.size < AT_WORK) {
      const next = this.#waiting.next();
      if (next.done === true) {
        return;
      }
      const [number, item] = next.value;
      if (!this.#shown.has(number)) {
        this.#started.add(number);
        this.#run.started(item);
      }
    }
  }
}
