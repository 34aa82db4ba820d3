/** The language client: capabilities and middleware. */

import * as vscode from "vscode";
import {
  type ClientCapabilities,
  CloseAction,
  ErrorAction,
  LanguageClient,
  type Middleware,
  RevealOutputChannelOn,
  ShowMessageRequest,
  State,
  type StaticFeature,
} from "vscode-languageclient/node";

import { DOCUMENTS, SAMPLES } from "./documents";
import type { ServerCommand } from "./server";
import { explicitSettings } from "./settings";

/** The button that cancels a question. */
const CANCEL = "Cancel";

export interface ClientChannels {
  /** The server's log. */
  log: vscode.LogOutputChannel;
  /** The messages between client and server, if `promptls.trace.server` is set. */
  trace: vscode.LogOutputChannel;
}

/**
 * Returns a client that is not started. `commands` are registered by the extension itself, `settings` are the
 * names of its settings without `promptls.`, and `crashed` is called when the server ends so often that it is
 * not restarted.
 */
export function createClient(
  server: ServerCommand,
  cwd: string,
  channels: ClientChannels,
  commands: readonly string[],
  settings: readonly string[],
  crashed: () => void,
): LanguageClient {
  const executable = { command: server.command, args: server.args, options: { cwd } };
  const client: LanguageClient = new LanguageClient(
    "promptls",
    "promptls",
    { run: executable, debug: executable },
    {
      documentSelector: [...DOCUMENTS, SAMPLES],
      initializationOptions: { trusted: vscode.workspace.isTrusted },
      outputChannel: channels.log,
      traceOutputChannel: channels.trace,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      middleware: {
        ...ownSettings(settings),
        provideOnTypeFormattingEdits: withEndTag,
      },
      errorHandler: {
        // By default, the client stops for good when it writes to a server that has just died; `closed`
        // decides instead.
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        // A server that ended before it answered would end again; the server manager reports that once.
        closed: async () => {
          if (!hasRun) {
            return { action: CloseAction.DoNotRestart, handled: true };
          }
          const result = await errorHandler.closed();
          if (result.action === CloseAction.Restart) {
            return result;
          }
          crashed();
          return { action: CloseAction.DoNotRestart, handled: true };
        },
      },
      initializationFailedHandler: () => false,
    },
  );
  const errorHandler = client.createDefaultErrorHandler();
  let hasRun = false;
  client.onDidChangeState(({ newState }) => {
    hasRun ||= newState === State.Running;
  });
  client.registerFeature(panels(commands));
  // The user's command waits for the answer, and VS Code hides other questions after a few seconds.
  client.onRequest(ShowMessageRequest.type, ({ message, actions = [] }) =>
    vscode.window.showWarningMessage(
      message,
      { modal: true },
      ...actions.map((action) => ({ ...action, isCloseAffordance: action.title === CANCEL })),
    ),
  );
  return client;
}

/** Declares a capability of the extension that other clients lack. */
export function advertiseCapability(capabilities: ClientCapabilities, what: string): void {
  const declared = (capabilities.experimental ?? {}) as { promptls?: object };
  capabilities.experimental = { ...declared, promptls: { ...declared.promptls, [what]: true } };
}

/**
 * Declares the panels, so that the server returns data and opens no document itself. Removes the extension's
 * own commands from the server's list, because the extension registers them earlier, with a panel.
 */
function panels(commands: readonly string[]): StaticFeature {
  return {
    fillClientCapabilities(capabilities) {
      advertiseCapability(capabilities, "panels");
    },
    preInitialize(capabilities) {
      const provider = capabilities.executeCommandProvider;
      if (provider !== undefined) {
        provider.commands = provider.commands.filter((command) => !commands.includes(command));
      }
    },
    initialize() {
      // It does not depend on the server's capabilities.
    },
    getState: () => ({ kind: "static" }),
    clear() {
      // Nothing to dispose.
    },
  };
}

/** Sends only settings that the user has set: a default would override the project's value. */
function ownSettings(names: readonly string[]): Middleware {
  return {
    workspace: {
      async configuration(params, token, next) {
        const answers = await next(params, token);
        return Array.isArray(answers)
          ? answers.map((answer: unknown, index) => {
              const item = params.items[index];
              if (item?.section !== "promptls") {
                return answer;
              }
              const scope = item.scopeUri === undefined ? undefined : vscode.Uri.parse(item.scopeUri);
              const settings = vscode.workspace.getConfiguration("promptls", scope);
              return explicitSettings(names, (name) => settings.inspect(name));
            })
          : answers;
      },
    },
  };
}

/** Inserts an end tag below the last line as a snippet: VS Code moves the cursor after an edit at the cursor. */
const withEndTag: NonNullable<Middleware["provideOnTypeFormattingEdits"]> = async (
  ...[document, position, typed, options, token, next]
) => {
  const edits = await next(document, position, typed, options, token);
  const endTag = edits?.find(({ newText }) => newText.startsWith("\n"));
  if (endTag === undefined) {
    return edits;
  }
  const editor = vscode.window.activeTextEditor;
  if (editor?.document === document && !token.isCancellationRequested) {
    // The line break takes the indentation along.
    const snippet = new vscode.SnippetString("$0").appendText(`\n${endTag.newText.trim()}`);
    await editor.insertSnippet(snippet, endTag.range);
  }
  return edits?.filter((edit) => edit !== endTag);
};
