/** Registers the agent tools if VS Code supports them. */

import { isAbsolute, join, relative } from "node:path";

import { errorMessage } from "@promptls/web/shared/errorMessage";
import * as vscode from "vscode";

import type { Client } from "../client";
import { exists } from "../files";
import { type Editor, type Input, isOnlyPlan, runArguments, type Tool, TOOLS } from "./tools";

export function registerAgentTools(client: Client): vscode.Disposable {
  // Some editors based on VS Code lack the language model API.
  if (typeof (vscode.lm as typeof vscode.lm | undefined)?.registerTool !== "function") {
    return new vscode.Disposable(() => undefined);
  }
  const offered = Object.entries(TOOLS).map(([name, tool]) =>
    vscode.lm.registerTool<Input>(`promptls_${name}`, {
      invoke: async ({ input }, token) =>
        new vscode.LanguageModelToolResult([
          new vscode.LanguageModelTextPart(await answer(tool, input, client, token)),
        ]),
      ...(name === "run_experiment" ? { prepareInvocation: confirmRun(client) } : {}),
    }),
  );
  return vscode.Disposable.from(...offered);
}

/** Errors are returned as results: they say what is wrong, where, and how to correct it. */
async function answer(
  tool: Tool,
  input: Input,
  client: Client,
  token: vscode.CancellationToken,
): Promise<string> {
  try {
    return await tool(input, editorFor(client, token));
  } catch (error) {
    return errorMessage(error);
  }
}

/** Before the run starts, the user sees its cost and which servers receive the prompts. */
function confirmRun(client: Client): NonNullable<vscode.LanguageModelTool<Input>["prepareInvocation"]> {
  return async ({ input }, token) => {
    if (isOnlyPlan(input)) {
      return undefined;
    }
    const file = typeof input.file === "string" ? input.file : "";
    let message: string;
    try {
      const argument = await runArguments(input, uriOf);
      const plan = await client.execute<{ message: string }>("promptls.planExperiment", argument, token);
      message = plan.message;
    } catch (error) {
      message = errorMessage(error);
    }
    return {
      invocationMessage: `Running the experiment of ${file}`,
      confirmationMessages: { title: `Run the experiment of ${file}?`, message },
    };
  };
}

function editorFor(client: Client, token: vscode.CancellationToken): Editor {
  return {
    execute: (command, argument) => client.execute(command, argument, token),
    run: (command, argument) =>
      client.executeWithProgress(command, argument, "Running the experiment", token),
    uriOf,
    runOf,
    shown: (path) => vscode.workspace.asRelativePath(path, false),
  };
}

/** A file must be in the workspace, because trust applies to the workspace. */
async function uriOf(file: string): Promise<string> {
  const folders = vscode.workspace.workspaceFolders ?? [];
  for (const { uri } of folders) {
    const path = isAbsolute(file) ? file : join(uri.fsPath, file);
    const inside = relative(uri.fsPath, path);
    const found = vscode.Uri.file(path);
    if (!inside.startsWith("..") && !isAbsolute(inside) && (await exists(found))) {
      return found.toString();
    }
  }
  throw new Error(`there is no file ${file} in the workspace; check the path`);
}

async function runOf(name: string): Promise<string> {
  if (/[./\\]/.test(name)) {
    return vscode.Uri.parse(await uriOf(name)).fsPath;
  }
  const [table] = await vscode.workspace.findFiles(`**/experiments/${name}.csv`, undefined, 1);
  if (table === undefined) {
    throw new Error(`there is no run ${name} in the workspace; check the name`);
  }
  return table.fsPath;
}
