/** The tree of tests: prompt files, their experiments, and the rows and examples of these. */

import { errorMessage } from "@promptls/web/shared/errorMessage";
import { baseName, count } from "@promptls/web/shared/format";
import type { ExperimentRows, ExperimentTestsResult, PromptTests } from "@promptls/web/wire/commands";
import * as vscode from "vscode";

import type { Client } from "../client";
import { folderOf } from "../files";
import { idOf, sortTextOf, type TestData } from "./items";
import type { KnownResults } from "./results";

/** Lists prompts and experiments at once, and the rows of an experiment when it is expanded. */
export class TestTree {
  readonly #client: Client;
  readonly #controller: vscode.TestController;
  readonly #results: KnownResults;
  readonly #data = new WeakMap<vscode.TestItem, TestData>();
  readonly #prompts = new Map<string, PromptTests>();
  readonly #resolved = new Set<vscode.TestItem>();

  constructor(client: Client, controller: vscode.TestController, results: KnownResults) {
    this.#client = client;
    this.#controller = controller;
    this.#results = results;
  }

  get isEmpty(): boolean {
    return this.#controller.items.size === 0;
  }

  dataOf(items: readonly vscode.TestItem[]): TestData[] {
    return items.map((item) => this.#data.get(item)).filter((data) => data !== undefined);
  }

  experimentsOf(uri: string): readonly string[] {
    return this.#prompts.get(uri)?.experiments ?? [];
  }

  /** Returns the test of an experiment, with its rows listed; undefined if it does not exist. */
  async experiment(uri: string, experiment: string): Promise<vscode.TestItem | undefined> {
    const item = this.#controller.items.get(uri)?.children.get(idOf({ kind: "experiment", uri, experiment }));
    if (item !== undefined && !this.#resolved.has(item)) {
      await this.resolve(item);
    }
    return item;
  }

  /** Lists the rows and examples of a visible prompt, so that its lines get run buttons. */
  async show(uri: string): Promise<void> {
    for (const [, item] of this.#controller.items.get(uri)?.children ?? []) {
      if (!this.#resolved.has(item)) {
        await this.resolve(item);
      }
    }
  }

  /** Refreshes all listed items. */
  async refresh(): Promise<void> {
    await this.list();
    for (const item of [...this.#resolved]) {
      if (this.#find(item) === item) {
        await this.resolve(item);
      } else {
        this.#resolved.delete(item);
      }
    }
  }

  async list(): Promise<void> {
    const { prompts } = await this.#client.execute<ExperimentTestsResult>("promptls.experimentTests", {});
    this.#prompts.clear();
    for (const prompt of prompts) {
      this.#prompts.set(prompt.uri, prompt);
    }
    const items = prompts.map((prompt) => {
      const uri = vscode.Uri.parse(prompt.uri);
      const item = this.#item(
        this.#controller.items,
        { kind: "prompt", uri: prompt.uri },
        baseName(prompt.uri),
        uri,
      );
      item.description = folderOf(uri);
      const experiments = prompt.experiments.map((experiment) => {
        const made = this.#item(
          item.children,
          { kind: "experiment", uri: prompt.uri, experiment },
          experiment,
          uri,
        );
        made.canResolveChildren = true;
        return made;
      });
      item.children.replace(experiments);
      return item;
    });
    this.#controller.items.replace(items);
  }

  /** Lists the rows and examples of an experiment, with the verdicts of its last runs. */
  async resolve(item: vscode.TestItem): Promise<void> {
    const data = this.#data.get(item);
    if (data?.kind !== "experiment") {
      return;
    }
    const { uri, experiment } = data;
    item.busy = true;
    try {
      const found = await this.#client.execute<ExperimentRows>("promptls.experimentRows", {
        uri,
        experiment,
      });
      const prompt = vscode.Uri.parse(uri);
      const dataset = found.dataset === null ? undefined : vscode.Uri.parse(found.dataset);
      const examples = (this.#prompts.get(uri)?.examples ?? []).map(({ number, line, label }) =>
        this.#placed(
          item,
          { kind: "example", uri, experiment, number },
          `example ${number}: ${label}`,
          prompt,
          line,
        ),
      );
      const rows = found.rows.map(({ number, line, label }) =>
        this.#placed(item, { kind: "row", uri, experiment, number }, label, dataset, line),
      );
      item.children.replace([...examples, ...rows]);
      item.error = undefined;
      item.description = found.more ? `the first ${count(found.rows.length, "row")}` : "";
      this.#resolved.add(item);
      this.#results.showNew(this.#controller, item, found);
    } catch (error) {
      item.error = errorMessage(error);
    } finally {
      item.busy = false;
    }
  }

  /** Returns the item at the position of an earlier one. */
  #find(item: vscode.TestItem): vscode.TestItem | undefined {
    const above = item.parent;
    return above === undefined
      ? this.#controller.items.get(item.id)
      : this.#find(above)?.children.get(item.id);
  }

  /** Existing items keep their results. */
  #item(
    among: vscode.TestItemCollection,
    data: TestData,
    label: string,
    uri: vscode.Uri | undefined,
  ): vscode.TestItem {
    const id = idOf(data);
    const known = among.get(id);
    const item =
      known?.uri?.toString() === uri?.toString() && known !== undefined
        ? known
        : this.#controller.createTestItem(id, label, uri);
    // Each assignment sends a message to the window, even without a change, which is slow for thousands of
    // rows.
    if (item.label !== label) {
      item.label = label;
    }
    const sortText = sortTextOf(data);
    if (item.sortText !== sortText) {
      item.sortText = sortText;
    }
    this.#data.set(item, data);
    return item;
  }

  #placed(
    above: vscode.TestItem,
    data: TestData,
    label: string,
    uri: vscode.Uri | undefined,
    line: number | null,
  ): vscode.TestItem {
    const item = this.#item(above.children, data, label, uri);
    // VS Code moves marks with the text, even if a file is replaced on disk, and ignores a range equal to the
    // last one that it received.
    if (data.kind === "example" || item.range?.start.line !== (line ?? undefined)) {
      item.range = undefined;
      item.range = line === null ? undefined : new vscode.Range(line, 0, line, 0);
    }
    return item;
  }
}
