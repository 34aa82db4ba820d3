/** `promptls.newPrompt`: a new prompt, alone or with the files of an experiment. */

import { errorMessage } from "@promptls/web/shared/errorMessage";
import type { NewPromptResult } from "@promptls/web/wire/commands";
import * as vscode from "vscode";

import type { Client } from "./client";
import { exists } from "./files";

interface Starter extends vscode.QuickPickItem {
  prompt: "parts" | "object" | "evaluation";
  /** Files created with the prompt. */
  beside: ("sample" | "dataset" | "experiment")[];
}

const STARTERS: readonly Starter[] = [
  {
    label: "Prompt",
    detail: "Parts with roles, and samples to preview it with",
    prompt: "parts",
    beside: ["sample"],
  },
  {
    label: "Prompt With an Experiment",
    detail: "With a dataset; runs on a small model on this machine",
    prompt: "parts",
    beside: ["sample", "dataset", "experiment"],
  },
  {
    label: "Prompt Object",
    detail: "Instruction, inputs and examples, as in Ragas",
    prompt: "object",
    beside: ["sample"],
  },
  {
    label: "Evaluation Prompt",
    detail: "For OpenCompass, with a dataset",
    prompt: "evaluation",
    beside: ["dataset"],
  },
];

/**
 * Creates the chosen files in the workspace folder, and opens the prompt; existing files are never
 * overwritten.
 */
export async function newPrompt(client: Client): Promise<void> {
  const place = await chosenFolder();
  if (place === undefined) {
    const answer = await vscode.window.showInformationMessage(
      "promptls: open a folder first; prompts live in files.",
      "Open Folder",
    );
    if (answer !== undefined) {
      await vscode.commands.executeCommand("workbench.action.files.openFolder");
    }
    return;
  }
  const starter = await vscode.window.showQuickPick(STARTERS, {
    title: "New Prompt",
    placeHolder: "What to create",
  });
  if (starter === undefined) {
    return;
  }
  const typed = await vscode.window.showInputBox({
    title: "New Prompt",
    prompt: "The name of the prompt; its file ends in .yml.j2",
    value: "prompt",
    validateInput: (text) => nameProblem(withoutEnding(text), place),
  });
  if (typed === undefined || !(await client.startForCommand())) {
    return;
  }
  const { prompt: kind, beside } = starter;
  const argument = { prompt: withoutEnding(typed), kind, beside };
  try {
    const { files } = await client.execute<NewPromptResult>("promptls.newPrompt", argument);
    const made = Object.entries(files).map(([path, text]) => ({
      uri: vscode.Uri.joinPath(place, path),
      text,
    }));
    for (const { uri } of made) {
      if (await exists(uri)) {
        const path = vscode.workspace.asRelativePath(uri);
        throw new Error(`the file ${path} already exists, and nothing was written`);
      }
    }
    for (const { uri, text } of made) {
      await vscode.workspace.fs.writeFile(uri, Buffer.from(text, "utf8"));
    }
    if (made[0] !== undefined) {
      await vscode.window.showTextDocument(made[0].uri, { preview: false });
    }
  } catch (error) {
    await vscode.window.showErrorMessage(`promptls: ${errorMessage(error)}`);
  }
}

async function chosenFolder(): Promise<vscode.Uri | undefined> {
  const folders = vscode.workspace.workspaceFolders ?? [];
  if (folders.length > 1) {
    return (await vscode.window.showWorkspaceFolderPick({ placeHolder: "Folder of the new prompt" }))?.uri;
  }
  return folders[0]?.uri;
}

async function nameProblem(name: string, place: vscode.Uri): Promise<string | undefined> {
  if (!/^[A-Za-z][\w-]*$/.test(name)) {
    return "Letters, digits, hyphens and underscores, with a letter first";
  }
  const isTaken = await exists(vscode.Uri.joinPath(place, `${name}.yml.j2`));
  return isTaken ? "A prompt with this name already exists" : undefined;
}

function withoutEnding(typed: string): string {
  return typed.trim().replace(/\.ya?ml\.j2$/, "");
}
