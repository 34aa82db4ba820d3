/** The view in the activity bar: prompts of the workspace, their experiments and runs. */

import { errorMessage } from "@promptls/web/shared/errorMessage";
import type {
  ExperimentTestsResult,
  ListedRun,
  ListedRunsResult,
  PromptTests,
} from "@promptls/web/wire/commands";
import * as vscode from "vscode";

import type { Client } from "../client";
import { debounce } from "../debounce";
import { folderOf, PROMPTS, RUNS, watchFiles } from "../files";

const VIEW = "promptls.prompts";
const PAUSE_MILLISECONDS = 500;
const STATUS_ICONS: Record<ListedRun["status"], string> = {
  finished: "graph",
  running: "sync~spin",
  stopped: "debug-pause",
};

/** The argument that the item's commands receive. */
type Node =
  | { kind: "prompt"; uri: string; prompt: PromptTests }
  | { kind: "experiment"; uri: string; experiment: string }
  | { kind: "run"; uri: string; experiment: string; run: ListedRun; resume: string };

export class PromptsView implements vscode.TreeDataProvider<Node>, vscode.Disposable {
  readonly #client: Client;
  readonly #log: vscode.LogOutputChannel;
  readonly #changed = new vscode.EventEmitter<undefined>();
  readonly #subscriptions: vscode.Disposable;

  readonly onDidChangeTreeData = this.#changed.event;

  constructor(client: Client, log: vscode.LogOutputChannel) {
    this.#client = client;
    this.#log = log;
    const refresh = debounce(() => this.#changed.fire(undefined), PAUSE_MILLISECONDS);
    const soon = () => refresh.request();
    this.#subscriptions = vscode.Disposable.from(
      this.#changed,
      refresh,
      watchFiles([PROMPTS, RUNS], soon),
      client.onStarted(soon),
      vscode.window.createTreeView(VIEW, { treeDataProvider: this, showCollapseAll: true }),
      vscode.commands.registerCommand("promptls.refreshPrompts", soon),
    );
  }

  dispose(): void {
    this.#subscriptions.dispose();
  }

  async getChildren(node?: Node): Promise<Node[]> {
    try {
      return await this.#children(node);
    } catch (error) {
      this.#log.error(`The prompts cannot be listed: ${errorMessage(error)}`);
      return [];
    }
  }

  getTreeItem(node: Node): vscode.TreeItem {
    switch (node.kind) {
      case "prompt":
        return promptItem(node.prompt);
      case "experiment":
        return experimentItem(node.experiment);
      case "run":
        return runItem(node.run);
    }
  }

  async #children(node: Node | undefined): Promise<Node[]> {
    if (node === undefined) {
      const found = await this.#client.execute<ExperimentTestsResult>("promptls.experimentTests", {
        allPrompts: true,
      });
      return found.prompts.map((prompt) => ({ kind: "prompt", uri: prompt.uri, prompt }));
    }
    if (node.kind === "prompt") {
      const { uri, experiments } = node.prompt;
      return experiments.map((experiment) => ({ kind: "experiment", uri, experiment }));
    }
    if (node.kind === "experiment") {
      const { uri, experiment } = node;
      const found = await this.#client.execute<ListedRunsResult>("promptls.listRuns", { uri, experiment });
      return found.runs.map((run) => ({ kind: "run", uri, experiment, run, resume: run.table }));
    }
    return [];
  }
}

function promptItem({ uri, experiments }: PromptTests): vscode.TreeItem {
  const file = vscode.Uri.parse(uri);
  const item = new vscode.TreeItem(
    file,
    experiments.length > 0 ? vscode.TreeItemCollapsibleState.Expanded : vscode.TreeItemCollapsibleState.None,
  );
  item.description = folderOf(file);
  item.iconPath = vscode.ThemeIcon.File;
  item.contextValue = "prompt";
  item.command = { command: "vscode.open", title: "Open", arguments: [file] };
  return item;
}

function experimentItem(experiment: string): vscode.TreeItem {
  const item = new vscode.TreeItem(experiment, vscode.TreeItemCollapsibleState.Collapsed);
  item.iconPath = new vscode.ThemeIcon("beaker");
  item.contextValue = "experiment";
  return item;
}

/** Returns the time of a run, short enough to leave room for its scores. */
function moment(started: Date): string {
  return started.toLocaleString(undefined, {
    year: started.getFullYear() === new Date().getFullYear() ? undefined : "numeric",
    month: "short",
    day: "numeric",
    hour: "numeric",
    minute: "2-digit",
  });
}

function runItem(run: ListedRun): vscode.TreeItem {
  const item = new vscode.TreeItem(moment(new Date(run.started)));
  const scores = Object.entries(run.scores).map(([metric, score]) => `${score} ${metric}`);
  item.description = [...scores, run.notes].filter((text) => text !== "").join(" · ");
  item.tooltip = [run.name, run.models.join(", "), item.description].join("\n");
  item.iconPath = new vscode.ThemeIcon(STATUS_ICONS[run.status]);
  item.contextValue = run.status === "stopped" ? "stoppedRun" : "run";
  if (run.status !== "stopped") {
    item.command = {
      command: "promptls.showResults",
      title: "Show Results",
      arguments: [{ run: run.table }],
    };
  }
  return item;
}
