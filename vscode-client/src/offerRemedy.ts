/** Error messages of models and runs, with buttons that solve the problem. */

import { errorMessage } from "@promptls/web/shared/errorMessage";
import * as vscode from "vscode";

import type { CommandArgument } from "./arguments";
import { type Client, ModelDeclinedError } from "./client";
import type { Keys } from "./keys";
import { remedyOf } from "./remedies";
import type { ServerManager } from "./serverManager";
import { setKey } from "./setKey";

const SHOW_LOG = "Show Log";

export interface RemedyContext {
  manager: ServerManager;
  client: Client;
  keys: Keys;
  log: vscode.LogOutputChannel;
}

/**
 * Shows why a run failed, with a button for the remedy; resolves to what to run afterwards. Shows nothing if
 * the user has just declined the remedy.
 */
export async function offerRemedy(
  error: unknown,
  argument: CommandArgument,
  { client, manager, keys, log }: RemedyContext,
): Promise<CommandArgument | undefined> {
  const message = errorMessage(error);
  log.error(message);
  if (error instanceof ModelDeclinedError) {
    return undefined;
  }
  const remedy = remedyOf(message);
  const text = remedy?.kind === "key" ? remedy.problem : message;
  // VS Code truncates messages without buttons, and the remedy is at the end of the message.
  const answer = await vscode.window.showErrorMessage(
    `promptls: ${text}`,
    ...(remedy === undefined ? [] : [remedy.button]),
    SHOW_LOG,
  );
  if (answer === SHOW_LOG) {
    log.show();
    return undefined;
  }
  if (answer === undefined || remedy === undefined) {
    return undefined;
  }
  switch (remedy.kind) {
    case "key":
      return (await setKey(keys, remedy.variable)) ? argument : undefined;
    case "trust":
      await vscode.commands.executeCommand("workbench.trust.manage");
      return undefined;
    case "experiment":
      await client.execute("promptls.saveData", { uri: argument.uri, to: "experiment" });
      return argument;
    case "resume":
      return { uri: argument.uri, experiment: argument.experiment, resume: remedy.run };
    case "install":
      manager.installInTerminal(remedy.module, remedy.args);
      return undefined;
  }
}
