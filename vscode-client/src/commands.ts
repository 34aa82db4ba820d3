/** The commands of the palette, the editor title, lenses and code actions. */

import { errorMessage } from "@promptls/web/shared/errorMessage";
import type { DatasetResult, LeaveOneOutResult, RunResult } from "@promptls/web/wire/commands";
import type { ResultsArguments } from "@promptls/web/wire/results";
import * as vscode from "vscode";

import { argumentOf, type CommandArgument } from "./arguments";
import type { Client } from "./client";
import { hasPrompts, promptToUse } from "./documents";
import { askForDataset, type DatasetArgument } from "./generateDataset";
import type { Keys } from "./keys";
import { newPrompt } from "./newPrompt";
import { offerRemedy } from "./offerRemedy";
import type { PreviewPanel } from "./preview/panel";
import type { ResultsPanel } from "./results/panel";
import type { ServerManager } from "./serverManager";
import { setKey } from "./setKey";
import type { TruncationPanel } from "./truncation/panel";

/** Server commands that the extension registers instead, because they open a panel. */
export const PANEL_COMMANDS = [
  "promptls.newPrompt",
  "promptls.preview",
  "promptls.truncationLab",
  "promptls.runExperiment",
  "promptls.leaveOneOut",
  "promptls.generateDataset",
  "promptls.showResults",
  "promptls.compareRuns",
  "promptls.debugInformation",
] as const;

export interface CommandContext {
  manager: ServerManager;
  client: Client;
  preview: PreviewPanel;
  truncation: TruncationPanel;
  results: ResultsPanel;
  keys: Keys;
  log: vscode.LogOutputChannel;
  extensionVersion: string;
}

export function registerCommands(context: CommandContext): vscode.Disposable {
  const { manager, client, preview, truncation, results, keys, log } = context;
  const onPrompt = (run: (argument: CommandArgument) => unknown) => async (given: unknown) => {
    const argument = argumentOf(given);
    const uri = argument?.uri ?? (await promptToUse());
    if (uri !== undefined) {
      if (await client.startForCommand()) {
        await run(argument ?? { uri });
      }
    } else if (!(await hasPrompts())) {
      const answer = await vscode.window.showInformationMessage(
        "promptls: there is no prompt file (.yml.j2 or .yaml.j2) in the workspace.",
        "New Prompt",
      );
      if (answer !== undefined) {
        await newPrompt(client);
      }
    }
  };
  const showResults = onPrompt((argument) => results.show(argument));
  const handlers: Record<string, (given: unknown) => unknown> = {
    "promptls.preview": onPrompt((argument) => preview.show(argument)),
    "promptls.truncationLab": onPrompt(({ uri }) => truncation.show(uri)),
    "promptls.runExperiment": onPrompt((argument) => runExperiment(argument, context)),
    // A stopped run in the view of prompts.
    "promptls.resumeRun": onPrompt(({ uri, experiment, resume }) =>
      runExperiment({ uri, experiment, resume }, context),
    ),
    "promptls.leaveOneOut": onPrompt((argument) => leaveOneOut(argument, context)),
    // A lens may pass a run without a prompt.
    "promptls.showResults": (given) => (isRun(given) ? results.show(given) : showResults(given)),
    "promptls.compareRuns": onPrompt((argument) => results.show(argument, "Compare")),
    "promptls.newPrompt": () => newPrompt(client),
    "promptls.generateDataset": async () => {
      const argument = await askForDataset();
      if (argument !== undefined && (await client.startForCommand())) {
        await generateDataset(argument, context);
      }
    },
    "promptls.setKey": () => setKey(keys),
    "promptls.installServer": async () => {
      await manager.install();
      if (manager.isRunning) {
        // Not awaited: the message may stay open.
        void vscode.window.showInformationMessage("promptls: the server is installed and runs.");
      }
    },
    "promptls.restartServer": () => manager.start(true),
    "promptls.showLog": () => log.show(),
    "promptls.debugInformation": () => showDebugInformation(context),
  };
  return vscode.Disposable.from(
    ...Object.entries(handlers).map(([command, handler]) =>
      vscode.commands.registerCommand(command, (given: unknown) => {
        // Walkthrough steps depend on these keys as well as on the commands: VS Code does not count commands
        // of lenses as executed, and ignores keys that were set before a walkthrough is first shown.
        void vscode.commands.executeCommand("setContext", `${command}.used`, true);
        return handler(given);
      }),
    ),
  );
}

function isRun(given: unknown): given is ResultsArguments & { run: string } {
  return typeof given === "object" && given !== null && "run" in given && typeof given.run === "string";
}

/** Runs an experiment with a cancellable progress notification, and shows the results. */
async function runExperiment(argument: CommandArgument, context: CommandContext): Promise<void> {
  const { client, results } = context;
  const run = Symbol("run");
  try {
    const title = typeof argument.experiment === "string" ? argument.experiment : "the experiment";
    const result = await client.executeWithProgress<RunResult | null>(
      "promptls.runExperiment",
      argument,
      `Running ${title}`,
      undefined,
      (message, percentage) => results.running(run, title, message, percentage / 100),
    );
    results.ended(run);
    if (result === null) {
      return;
    }
    if (result.run !== "") {
      await results.show({ run: result.run });
    }
    const { resume } = result;
    if (result.cancelled || result.failed > 0) {
      const actions = resume === undefined || resume === "" ? [] : ["Resume"];
      const answer = await vscode.window.showWarningMessage(`promptls: ${result.message}`, ...actions);
      if (answer !== undefined) {
        await runExperiment({ uri: argument.uri, experiment: argument.experiment, resume }, context);
      }
    }
  } catch (error) {
    results.ended(run);
    const again = await offerRemedy(error, argument, context);
    if (again !== undefined) {
      await runExperiment(again, context);
    }
  }
}

/**
 * Runs the experiment without each few-shot example in turn; the server opens a page with the value of each
 * example.
 */
async function leaveOneOut(argument: CommandArgument, context: CommandContext): Promise<void> {
  const { client } = context;
  try {
    const result = await client.executeWithProgress<LeaveOneOutResult>(
      "promptls.leaveOneOut",
      argument,
      "Leaving out each example in turn",
    );
    // Not awaited: the message may stay open.
    void vscode.window.showInformationMessage(`promptls: ${result.message}`);
  } catch (error) {
    const again = await offerRemedy(error, argument, context);
    if (again !== undefined) {
      await leaveOneOut(again, context);
    }
  }
}

/** Generates a test dataset with a cancellable progress notification, and opens it. */
async function generateDataset(argument: DatasetArgument, context: CommandContext): Promise<void> {
  const { client } = context;
  try {
    const made = await client.executeWithProgress<DatasetResult>(
      "promptls.generateDataset",
      argument,
      "Generating test data",
    );
    if (made.uri !== "" && !made.uri.endsWith(".parquet")) {
      await vscode.window.showTextDocument(vscode.Uri.parse(made.uri), { preview: false });
    }
    // Not awaited: the message may stay open.
    if (made.cancelled || made.rows < (made.requested ?? 0)) {
      void vscode.window.showWarningMessage(`promptls: ${made.message}`);
    } else {
      void vscode.window.showInformationMessage(`promptls: ${made.message}`);
    }
  } catch (error) {
    if ((await offerRemedy(error, { uri: argument.output }, context)) !== undefined) {
      await generateDataset(argument, context);
    }
  }
}

/** Opens a text to paste into an issue: versions, paths and settings, but no secrets. */
async function showDebugInformation({ manager, client, extensionVersion }: CommandContext): Promise<void> {
  const server = manager.server;
  const lines = [
    `extension   ${extensionVersion}`,
    `VS Code     ${vscode.version} (${vscode.env.appName}, ${vscode.env.uiKind === vscode.UIKind.Web ? "web" : "desktop"})`,
    `system      ${process.platform} ${process.arch}`,
    `trusted     ${String(vscode.workspace.isTrusted)}`,
    `server      ${server === undefined ? "none" : [server.command, ...server.args].join(" ")}`,
    `source      ${server?.source ?? ""}`,
    `state       ${manager.isRunning ? "running" : "not running"}`,
    "",
    await serverInformation(client),
  ];
  const document = await vscode.workspace.openTextDocument({
    content: lines.join("\n"),
    language: "plaintext",
  });
  await vscode.window.showTextDocument(document, { preview: true });
}

/** This page is most useful if the server does not respond. */
async function serverInformation(client: Client): Promise<string> {
  try {
    const information = await client.execute<unknown>("promptls.debugInformation", {});
    return typeof information === "string" ? information : JSON.stringify(information, null, 2);
  } catch (error) {
    return `The server did not answer: ${errorMessage(error)}`;
  }
}
