/** The entry point of the extension. */

import type { TokensResult } from "@promptls/web/wire/commands";
import * as vscode from "vscode";

import { registerAgentTools } from "./agentTools/register";
import { Client } from "./client";
import { PANEL_COMMANDS, registerCommands } from "./commands";
import { debounce } from "./debounce";
import {
  activePrompt,
  hasPromptText,
  isBesidePrompts,
  isCheckedProgram,
  isPrompt,
  isPromptProject,
  visiblePrompt,
} from "./documents";
import { Keys, redactSecrets } from "./keys";
import { offerRemedy } from "./offerRemedy";
import { registerPasteProvider } from "./pasteProvider";
import { PreviewPanel } from "./preview/panel";
import { PromptsView } from "./prompts/view";
import { onSelectedPython } from "./python";
import { ResultsPanel } from "./results/panel";
import { ServerManager } from "./serverManager";
import { ServerStatus, TokenStatus } from "./status";
import { ExperimentTests } from "./tests/controller";
import { TruncationPanel } from "./truncation/panel";

const TYPING_PAUSE_MILLISECONDS = 300;

let manager: ServerManager | undefined;

export function activate(context: vscode.ExtensionContext): void {
  const keys = new Keys(context);
  const log = redactSecrets(vscode.window.createOutputChannel("promptls", { log: true }), keys);
  const trace = redactSecrets(vscode.window.createOutputChannel("promptls messages", { log: true }), keys);
  const status = new ServerStatus();
  const server = new ServerManager(context, { log, trace }, status, PANEL_COMMANDS);
  const client = new Client(server, keys);
  manager = server;
  const preview = new PreviewPanel(
    client,
    (error, argument) => offerRemedy(error, argument, { manager: server, client, keys, log }),
    context,
  );
  const truncation = new TruncationPanel(client, context);
  const results = new ResultsPanel(client, context);
  const isProject = isPromptProject();
  const extensionVersion = String((context.extension.packageJSON as { version: unknown }).version);

  context.subscriptions.push(
    log,
    trace,
    status,
    server,
    client,
    preview,
    truncation,
    results,
    registerCommands({ manager: server, client, preview, truncation, results, keys, log, extensionVersion }),
    registerAgentTools(client),
    registerPasteProvider(),
    countTokens(client, preview),
    startWhenNeeded(server, isProject),
    previewFirstPrompt(client, preview),
    whenPrompts(client, log, isProject, () => {
      void vscode.commands.executeCommand("setContext", "promptls.isActive", true);
      return vscode.Disposable.from(
        whenTrusted(() => new ExperimentTests(client, log)),
        whenTrusted(() => new PromptsView(client, log)),
      );
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => {
      if (server.isNeeded) {
        void server.start(true);
      }
    }),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (server.isNeeded && event.affectsConfiguration("promptls.server")) {
        void server.start();
      }
    }),
  );
  void onSelectedPython(() => {
    if (server.dependsOnPython) {
      void server.start();
    }
  }).then((subscription) => {
    if (subscription !== undefined) {
      context.subscriptions.push(subscription);
    }
  });
}

export async function deactivate(): Promise<void> {
  await manager?.stop();
}

/**
 * Creates the views that appear without a command once there is a prompt in the workspace or in a file that
 * starts a server. File names such as `*.yml.j2` activate the extension in Ansible projects too.
 */
function whenPrompts(
  client: Client,
  log: vscode.LogOutputChannel,
  isProject: Promise<boolean>,
  create: () => vscode.Disposable,
): vscode.Disposable {
  let created: vscode.Disposable | undefined;
  let isDisposed = false;
  const show = () => {
    started.dispose();
    if (!isDisposed) {
      created ??= create();
    }
  };
  const started = client.onStarted(show);
  void isProject.then((found) => {
    if (found) {
      show();
    } else {
      log.info("The workspace has no prompts. Views and tests appear when you open one.");
    }
  });
  return new vscode.Disposable(() => {
    isDisposed = true;
    started.dispose();
    created?.dispose();
  });
}

/** Runs execute code of the workspace, so views that offer runs appear only in trusted workspaces. */
function whenTrusted(create: () => { dispose(): void }): { dispose(): void } {
  if (vscode.workspace.isTrusted) {
    return create();
  }
  let created: { dispose(): void } | undefined;
  const trusted = vscode.workspace.onDidGrantWorkspaceTrust(() => {
    created ??= create();
  });
  return new vscode.Disposable(() => {
    trusted.dispose();
    created?.dispose();
  });
}

/**
 * Starts the server for the first relevant document: in a project with prompts by its file name, elsewhere by
 * its text. In a folder without prompts, no server is started and no environment is created.
 */
function startWhenNeeded(server: ServerManager, isProject: Promise<boolean>): vscode.Disposable {
  let hasPrompts = false;
  const startFor = (...documents: vscode.TextDocument[]) => {
    const isNeeded = documents.some(
      (document) =>
        (isPrompt(document) && (hasPrompts || hasPromptText(document))) ||
        (isBesidePrompts(document) && hasPrompts) ||
        isCheckedProgram(document),
    );
    if (isNeeded) {
      listening.dispose();
      void server.start();
    }
  };
  const listening = vscode.Disposable.from(
    vscode.workspace.onDidOpenTextDocument((document) => startFor(document)),
    vscode.workspace.onDidChangeTextDocument(({ document }) => startFor(document)),
  );
  startFor(...vscode.workspace.textDocuments);
  void isProject.then((found) => {
    hasPrompts = found;
    if (!server.isNeeded) {
      startFor(...vscode.workspace.textDocuments);
    }
  });
  return listening;
}

/** Opens the preview beside the first prompt of the window if the setting says so. */
function previewFirstPrompt(client: Client, preview: PreviewPanel): vscode.Disposable {
  const open = () => {
    const prompt = activePrompt();
    if (prompt === undefined || !client.isRunning || !hasPromptText(prompt)) {
      return;
    }
    const settings = vscode.workspace.getConfiguration("promptls");
    if (settings.get<boolean>("preview.openAutomatically", false)) {
      listening.dispose();
      preview.show({ uri: prompt.uri.toString() });
    }
  };
  const listening = vscode.Disposable.from(
    client.onStarted(open),
    vscode.window.onDidChangeActiveTextEditor(open),
  );
  return listening;
}

/** Shows the token count of the active prompt in the status bar, and refreshes it when typing pauses. */
function countTokens(client: Client, preview: PreviewPanel): vscode.Disposable {
  const status = new TokenStatus();
  let counted: string | undefined;
  // A panel has the focus while a sample is chosen in it, and after a reload of the window.
  const promptToCount = () => activePrompt()?.uri.toString() ?? counted ?? visiblePrompt()?.uri.toString();
  const refresh = debounce(async (token) => {
    const uri = promptToCount();
    if (uri === undefined || !client.isRunning) {
      return;
    }
    const result = await client
      .execute<TokensResult | null>("promptls.tokens", { uri }, token)
      .catch(() => null);
    if (token.isCancellationRequested || promptToCount() !== uri) {
      return;
    }
    if (result !== null) {
      status.show(result);
      counted = uri;
    } else if (counted !== uri) {
      // While a prompt is broken, its last count with the same data is shown; a file that is not a prompt has
      // none.
      status.hide();
    }
  }, TYPING_PAUSE_MILLISECONDS);
  return vscode.Disposable.from(
    status,
    refresh,
    client.onStarted(() => refresh.request()),
    client.onChanged(() => refresh.request()),
    preview.onChosen(() => {
      counted = undefined;
    }),
    vscode.window.onDidChangeActiveTextEditor(() => {
      // A focused panel does not change the active prompt: the count of the prompt beside it stays.
      if (activePrompt() === undefined && visiblePrompt() === undefined) {
        status.hide();
        counted = undefined;
      }
      refresh.request();
    }),
    vscode.workspace.onDidChangeTextDocument(({ document }) => {
      if (document === activePrompt()) {
        refresh.request();
      }
    }),
  );
}
