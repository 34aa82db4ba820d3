/** The Test Explorer: prompt files, their experiments, and of these the rows and the prompt's examples. */

import * as path from "node:path";

import * as vscode from "vscode";

import type { RunResult } from "../protocol";
import type { Session } from "../session";
import {
  type AskedRun,
  askedRuns,
  type ExperimentRows,
  idOf,
  millisecondsOf,
  type PromptTests,
  type RowVerdict,
  sortTextOf,
  type TestData,
} from "./items";

/** Manifests of finished runs; their folder is the only one of its name. */
const RUNS = "**/experiments/*.json";
const PROMPTS = "**/*.{yml,yaml}.j2";
const PAUSE_MILLISECONDS = 500;

/**
 * Shows the experiments of a trusted workspace as tests. Nothing is asked of the server before the tests are
 * looked at or a server runs anyway, and nothing is run before somebody asks for it.
 */
export class ExperimentTests implements vscode.Disposable {
  readonly #session: Session;
  readonly #log: vscode.LogOutputChannel;
  readonly #controller: vscode.TestController;
  readonly #data = new WeakMap<vscode.TestItem, TestData>();
  readonly #prompts = new Map<string, PromptTests>();
  readonly #resolved = new Set<vscode.TestItem>();
  /** What the last runs said, of each test of an experiment, when it was shown: it is shown again when it changes. */
  readonly #shown = new WeakMap<vscode.TestItem, Map<string, string>>();
  readonly #subscriptions: vscode.Disposable[] = [];
  #pause: NodeJS.Timeout | undefined;
  #running = 0;

  constructor(session: Session, log: vscode.LogOutputChannel) {
    this.#session = session;
    this.#log = log;
    this.#controller = vscode.tests.createTestController("promptls.experiments", "Prompt Experiments");
    this.#controller.resolveHandler = (item) => this.#logged(item === undefined ? this.#list() : this.#resolve(item));
    this.#controller.refreshHandler = () => this.#logged(this.#again());
    this.#controller.createRunProfile(
      "Run",
      vscode.TestRunProfileKind.Run,
      (request, token) => this.#run(request, token),
      true,
    );
    const runs = vscode.workspace.createFileSystemWatcher(RUNS);
    const prompts = vscode.workspace.createFileSystemWatcher(PROMPTS);
    this.#subscriptions.push(
      this.#controller,
      runs,
      prompts,
      runs.onDidCreate(() => {
        this.#soon();
      }),
      ...[prompts.onDidCreate, prompts.onDidChange, prompts.onDidDelete].map((event) =>
        event(() => {
          this.#soon();
        }),
      ),
      session.onStarted(() => {
        this.#soon();
      }),
    );
    if (session.isRunning) {
      this.#soon();
    }
  }

  dispose(): void {
    clearTimeout(this.#pause);
    vscode.Disposable.from(...this.#subscriptions).dispose();
  }

  /** Lists again after a pause: files often change several at once, and a run of ours shows its results itself. */
  #soon(): void {
    clearTimeout(this.#pause);
    this.#pause = setTimeout(() => {
      if (this.#running === 0 && this.#session.isRunning) {
        void this.#logged(this.#again());
      }
    }, PAUSE_MILLISECONDS);
  }

  async #again(): Promise<void> {
    await this.#list();
    for (const item of [...this.#resolved]) {
      if (this.#find(item) === item) {
        await this.#resolve(item);
      } else {
        this.#resolved.delete(item);
      }
    }
  }

  /** The item that stands where this one stood. */
  #find(item: vscode.TestItem): vscode.TestItem | undefined {
    const above = item.parent;
    return above === undefined ? this.#controller.items.get(item.id) : this.#find(above)?.children.get(item.id);
  }

  async #list(): Promise<void> {
    const { prompts } = await this.#session.execute<{ prompts: PromptTests[] }>("promptls.experimentTests", {});
    this.#prompts.clear();
    for (const prompt of prompts) {
      this.#prompts.set(prompt.uri, prompt);
    }
    const items = prompts.map((prompt) => {
      const uri = vscode.Uri.parse(prompt.uri);
      const item = this.#item(this.#controller.items, { kind: "prompt", uri: prompt.uri }, nameOf(uri), uri);
      item.description = folderOf(uri);
      const experiments = prompt.experiments.map((experiment) => {
        const made = this.#item(item.children, { kind: "experiment", uri: prompt.uri, experiment }, experiment, uri);
        made.canResolveChildren = true;
        return made;
      });
      item.children.replace(experiments);
      return item;
    });
    this.#controller.items.replace(items);
  }

  /** An item that is there already is kept with its results. */
  #item(among: vscode.TestItemCollection, data: TestData, label: string, uri: vscode.Uri | undefined): vscode.TestItem {
    const id = idOf(data);
    const known = among.get(id);
    const item = known?.uri?.toString() === uri?.toString() && known !== undefined
      ? known
      : this.#controller.createTestItem(id, label, uri);
    item.label = label;
    item.sortText = sortTextOf(data);
    this.#data.set(item, data);
    return item;
  }

  /** The rows and examples of an experiment, with what its last runs say of them. */
  async #resolve(item: vscode.TestItem): Promise<void> {
    const data = this.#data.get(item);
    if (data?.kind !== "experiment") {
      return;
    }
    const { uri, experiment } = data;
    item.busy = true;
    try {
      const found = await this.#session.execute<ExperimentRows>("promptls.experimentRows", { uri, experiment });
      const prompt = vscode.Uri.parse(uri);
      const dataset = found.dataset === null ? undefined : vscode.Uri.parse(found.dataset);
      const examples = (this.#prompts.get(uri)?.examples ?? []).map(({ number, line, label }) =>
        this.#placed(item, { kind: "example", uri, experiment, number }, `example ${String(number)}: ${label}`, prompt, line),
      );
      const rows = found.rows.map(({ number, line, label }) =>
        this.#placed(item, { kind: "row", uri, experiment, number }, label, dataset, line),
      );
      item.children.replace([...examples, ...rows]);
      item.error = undefined;
      item.description = found.more ? `the first ${found.rows.length.toLocaleString()} rows` : "";
      this.#resolved.add(item);
      this.#showKnown(item, found);
    } catch (error) {
      item.error = messageOf(error);
    } finally {
      item.busy = false;
    }
  }

  #placed(
    above: vscode.TestItem,
    data: TestData,
    label: string,
    uri: vscode.Uri | undefined,
    line: number | null,
  ): vscode.TestItem {
    const item = this.#item(above.children, data, label, uri);
    item.range = line === null ? undefined : new vscode.Range(line, 0, line, 0);
    return item;
  }

  /** Shows the results of runs that were made elsewhere, or before this window was opened. */
  #showKnown(item: vscode.TestItem, found: ExperimentRows): void {
    const before = this.#shown.get(item);
    const fresh = verdictsById(found).filter(([id, verdict]) => before?.get(id) !== JSON.stringify(verdict));
    this.#remember(item, found);
    if (fresh.length === 0) {
      return;
    }
    const run = this.#controller.createTestRun(new vscode.TestRunRequest([item]), "the last results", false);
    const stale: vscode.TestItem[] = [];
    for (const [id, verdict] of fresh) {
      const child = item.children.get(id);
      if (child !== undefined) {
        show(run, child, verdict);
        if (verdict.stale) {
          stale.push(child);
        }
      }
    }
    run.end();
    if (stale.length > 0) {
      this.#controller.invalidateTestResults(stale);
    }
  }

  #remember(item: vscode.TestItem, found: ExperimentRows): void {
    this.#shown.set(item, new Map(verdictsById(found).map(([id, verdict]) => [id, JSON.stringify(verdict)])));
  }

  async #run(request: vscode.TestRunRequest, token: vscode.CancellationToken): Promise<void> {
    const run = this.#controller.createTestRun(request);
    this.#running += 1;
    try {
      if (this.#controller.items.size === 0) {
        await this.#list();
      }
      const chosen = request.include ?? [...this.#controller.items].map(([, item]) => item);
      const asked = askedRuns(
        this.#dataOf(chosen),
        (uri) => this.#prompts.get(uri)?.experiments ?? [],
        this.#dataOf(request.exclude ?? []),
      );
      for (const each of asked) {
        if (token.isCancellationRequested) {
          break;
        }
        await this.#runOne(run, each, token);
      }
    } catch (error) {
      this.#log.error(messageOf(error));
      run.appendOutput(`${messageOf(error)}\r\n`);
    } finally {
      this.#running -= 1;
      run.end();
    }
  }

  #dataOf(items: readonly vscode.TestItem[]): TestData[] {
    return items.map((item) => this.#data.get(item)).filter((data) => data !== undefined);
  }

  async #runOne(run: vscode.TestRun, asked: AskedRun, token: vscode.CancellationToken): Promise<void> {
    const above = this.#controller.items
      .get(asked.uri)
      ?.children.get(idOf({ kind: "experiment", uri: asked.uri, experiment: asked.experiment }));
    if (above === undefined) {
      return;
    }
    if (!this.#resolved.has(above)) {
      await this.#resolve(above);
    }
    const kind = asked.examples ? "example" : "row";
    const items = [...above.children]
      .map(([, item]) => item)
      .filter((item) => {
        const data = this.#data.get(item);
        return data?.kind === kind && (asked.numbers?.has(data.number) ?? true);
      });
    for (const item of items) {
      run.enqueued(item);
    }
    for (const item of items) {
      run.started(item);
    }
    const argument = {
      uri: asked.uri,
      experiment: asked.experiment,
      ...(asked.rows === undefined ? {} : { rows: asked.rows }),
    };
    try {
      const result = await this.#session.executeWithProgress<RunResult>(
        "promptls.runExperiment",
        argument,
        `Running ${asked.experiment}`,
        token,
      );
      run.appendOutput(`${result.message}\r\n`);
      if (result.run === "") {
        for (const item of items) {
          run.skipped(item);
        }
        return;
      }
      const { verdicts } = await this.#session.execute<{ verdicts: RowVerdict[] }>("promptls.rowVerdicts", {
        run: result.run,
      });
      for (const verdict of verdicts) {
        const child = above.children.get(`${kind} ${String(verdict.number)}`);
        if (child !== undefined) {
          show(run, child, verdict);
        }
      }
      const { uri, experiment } = asked;
      this.#remember(above, await this.#session.execute<ExperimentRows>("promptls.experimentRows", { uri, experiment }));
    } catch (error) {
      // One message at the experiment, and not one at each of thousands of rows.
      for (const item of items) {
        run.skipped(item);
      }
      run.errored(above, new vscode.TestMessage(messageOf(error)));
      run.appendOutput(`${messageOf(error)}\r\n`);
    }
  }

  async #logged(work: Promise<void>): Promise<void> {
    try {
      await work;
    } catch (error) {
      this.#log.error(`The tests cannot be listed: ${messageOf(error)}`);
    }
  }
}

/** What the last runs say, by the ids of the tests. */
function verdictsById(found: ExperimentRows): [string, RowVerdict][] {
  return [
    ...found.exampleVerdicts.map((verdict): [string, RowVerdict] => [`example ${String(verdict.number)}`, verdict]),
    ...found.verdicts.map((verdict): [string, RowVerdict] => [`row ${String(verdict.number)}`, verdict]),
  ];
}

function show(run: vscode.TestRun, item: vscode.TestItem, verdict: RowVerdict): void {
  const duration = millisecondsOf(verdict);
  if (verdict.state === "passed") {
    run.passed(item, duration);
    return;
  }
  const message =
    verdict.expected === null
      ? new vscode.TestMessage(withAnswer(verdict))
      : vscode.TestMessage.diff(verdict.message, verdict.expected, verdict.actual);
  if (item.uri !== undefined && item.range !== undefined) {
    message.location = new vscode.Location(item.uri, item.range);
  }
  if (verdict.state === "failed") {
    run.failed(item, message, duration);
  } else {
    run.errored(item, message, duration);
  }
}

function withAnswer({ message, actual }: RowVerdict): string {
  return actual === "" ? message : `${message}\n\nThe answer:\n${actual}`;
}

function nameOf(uri: vscode.Uri): string {
  return path.posix.basename(uri.path);
}

/** The folder below the workspace's, where there are files of one name in several. */
function folderOf(uri: vscode.Uri): string {
  const folder = path.posix.dirname(vscode.workspace.asRelativePath(uri));
  return folder === "." ? "" : folder;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
