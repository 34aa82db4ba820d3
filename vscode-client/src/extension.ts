/** Where VS Code begins and ends the extension. */

import * as vscode from "vscode";

import { PANEL_COMMANDS, registerCommands } from "./commands";
import { activePrompt, isPrompt } from "./documents";
import { Keys, withoutKeys } from "./keys";
import { latestOnly } from "./latest";
import { PREVIEW_VIEW, PreviewPanel } from "./preview/panel";
import type { TokensResult } from "./protocol";
import { onSelectedPython } from "./python";
import { ResultsPanel } from "./results/panel";
import { Session } from "./session";
import { ServerStatus, TokenStatus } from "./status";
import { ExperimentTests } from "./tests/controller";
import { TruncationPanel } from "./truncation/panel";

const TYPING_PAUSE_MILLISECONDS = 300;

let session: Session | undefined;

export function activate(context: vscode.ExtensionContext): void {
  const keys = new Keys(context);
  const log = withoutKeys(vscode.window.createOutputChannel("promptls", { log: true }), keys);
  const trace = withoutKeys(vscode.window.createOutputChannel("promptls messages", { log: true }), keys);
  const status = new ServerStatus();
  const started = new Session(context, { log, trace }, status, PANEL_COMMANDS, keys);
  session = started;
  const preview = new PreviewPanel(started, context.extensionUri);
  const truncation = new TruncationPanel(started, context.extensionUri);
  const results = new ResultsPanel(started, context.extensionUri);
  const extensionVersion = String((context.extension.packageJSON as { version: unknown }).version);

  context.subscriptions.push(
    log,
    trace,
    status,
    started,
    preview,
    truncation,
    results,
    registerCommands({ session: started, preview, truncation, results, keys, log, extensionVersion }),
    vscode.window.registerWebviewPanelSerializer(PREVIEW_VIEW, {
      deserializeWebviewPanel: async (panel, state: unknown) => {
        preview.adopt(panel, (state as { uri?: string } | undefined)?.uri);
      },
    }),
    countTokens(started),
    startWhenNeeded(started),
    testsWhenTrusted(started, log),
    vscode.workspace.onDidGrantWorkspaceTrust(() => started.start(true)),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration("promptls.server")) {
        void started.start();
      }
    }),
  );
  void onSelectedPython(() => {
    if (started.server?.dependsOnPython === true) {
      void started.start();
    }
  }).then((subscription) => {
    if (subscription !== undefined) {
      context.subscriptions.push(subscription);
    }
  });
}

export async function deactivate(): Promise<void> {
  await session?.stop();
}

/** A run executes what the workspace holds, so that tests are offered in a trusted one alone. */
function testsWhenTrusted(started: Session, log: vscode.LogOutputChannel): vscode.Disposable {
  if (vscode.workspace.isTrusted) {
    return new ExperimentTests(started, log);
  }
  let tests: ExperimentTests | undefined;
  const trusted = vscode.workspace.onDidGrantWorkspaceTrust(() => {
    tests ??= new ExperimentTests(started, log);
  });
  return new vscode.Disposable(() => {
    trusted.dispose();
    tests?.dispose();
  });
}

/** A folder without prompts gets no server, and so no environment of ours. */
function startWhenNeeded(started: Session): vscode.Disposable {
  if (vscode.workspace.textDocuments.some(isPrompt)) {
    void started.start();
    return new vscode.Disposable(() => undefined);
  }
  const waiting = vscode.workspace.onDidOpenTextDocument((document) => {
    if (isPrompt(document)) {
      waiting.dispose();
      void started.start();
    }
  });
  return waiting;
}

/** Keeps the token count of the active prompt in the status bar, asked for when typing pauses. */
function countTokens(started: Session): vscode.Disposable {
  const status = new TokenStatus();
  let counted: string | undefined;
  const refresh = latestOnly(async (token) => {
    const prompt = activePrompt();
    if (prompt === undefined || !started.isRunning) {
      return;
    }
    const uri = prompt.uri.toString();
    const result = await started.execute<TokensResult | null>("promptls.tokens", { uri }, token).catch(() => null);
    if (token.isCancellationRequested || activePrompt()?.uri.toString() !== uri) {
      return;
    }
    if (result !== null) {
      status.show(result);
      counted = uri;
    } else if (counted !== uri) {
      // While a prompt is broken, its last count stays; a file that is no prompt has none.
      status.hide();
    }
  }, TYPING_PAUSE_MILLISECONDS);
  return vscode.Disposable.from(
    status,
    refresh,
    started.onStarted(() => {
      refresh.request();
    }),
    started.onChanged(() => {
      refresh.request();
    }),
    vscode.window.onDidChangeActiveTextEditor(() => {
      // A panel that takes the focus is no other file: the count of the prompt beside it stays.
      if (activePrompt() === undefined && !vscode.window.visibleTextEditors.some(({ document }) => isPrompt(document))) {
        status.hide();
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
