/** The language client: capabilities and middleware. */

import * as vscode from "vscode";
import {
  type ClientCapabilities,
  CloseAction,
  LanguageClient,
  type Middleware,
  RevealOutputChannelOn,
  State,
  type StaticFeature,
} from "vscode-languageclient/node";

import { DOCUMENTS } from "./documents";
import type { ServerCommand } from "./server";

export interface ClientChannels {
  /** What the server logs. */
  log: vscode.LogOutputChannel;
  /** The messages between the two, when `promptls.trace.server` asks for them. */
  trace: vscode.LogOutputChannel;
}

/** Returns a client that is not started; `commands` are those that the extension registers by itself. */
export function createClient(
  server: ServerCommand,
  cwd: string,
  channels: ClientChannels,
  commands: readonly string[],
): LanguageClient {
  const executable = { command: server.command, args: server.args, options: { cwd } };
  const client: LanguageClient = new LanguageClient(
    "promptls",
    "promptls",
    { run: executable, debug: executable },
    {
      documentSelector: DOCUMENTS,
      initializationOptions: { trusted: vscode.workspace.isTrusted },
      outputChannel: channels.log,
      traceOutputChannel: channels.trace,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      middleware: withoutOwnSettings,
      errorHandler: {
        error: (...given) => errorHandler.error(...given),
        // A server that ended before it ever answered would end again; the server manager says so, once.
        closed: () => (hasRun ? errorHandler.closed() : { action: CloseAction.DoNotRestart, handled: true }),
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
  return client;
}

/** Says to the server that the extension has something that other clients do not have. */
export function advertiseCapability(capabilities: ClientCapabilities, what: string): void {
  const said = (capabilities.experimental ?? {}) as { promptls?: object };
  capabilities.experimental = { ...said, promptls: { ...said.promptls, [what]: true } };
}

/**
 * Says that panels are there, so that the server answers with data and opens no document by itself; and takes
 * our commands from the server's list, because they are registered here, from the start and with a panel.
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
      // Nothing depends on what the server can do.
    },
    getState: () => ({ kind: "static" }),
    clear() {
      // Nothing to dispose.
    },
  };
}

/** Settings that choose how the server is started: it has no use for them, and they name places of this machine. */
const OWN_SETTINGS = ["server", "trace"];

const withoutOwnSettings: Middleware = {
  workspace: {
    async configuration(params, token, next) {
      const answers = await next(params, token);
      return Array.isArray(answers)
        ? answers.map((answer: unknown, index) =>
            params.items[index]?.section === "promptls" ? omit(answer, OWN_SETTINGS) : answer,
          )
        : answers;
    },
  },
};

function omit(value: unknown, keys: readonly string[]): unknown {
  return typeof value === "object" && value !== null
    ? Object.fromEntries(Object.entries(value).filter(([key]) => !keys.includes(key)))
    : value;
}
