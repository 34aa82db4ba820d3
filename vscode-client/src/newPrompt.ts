/** `promptls.newPrompt`: a prompt to begin with, alone or with what an experiment needs. */

import * as vscode from "vscode";

type Files = Record<string, string>;

interface Starter extends vscode.QuickPickItem {
  /** The files that are made, by the names of those that the extension carries. */
  files(name: string): Files;
}

const STARTERS: readonly Starter[] = [
  {
    label: "Prompt",
    detail: "A file with two parts and an example",
    files: (name) => ({ "prompt.yml.j2": `${name}.yml.j2` }),
  },
  {
    label: "Prompt with an experiment",
    detail: "Also a data set and a metric, to be run on a small model on this machine",
    files: (name) => ({
      "experiment.yml.j2": `${name}.yml.j2`,
      "rows.csv": `datasets/${name}.csv`,
      "metrics.py": `${name}_metrics.py`,
    }),
  },
];

/** Makes the chosen files in the workspace's folder, and opens the prompt; no file is ever overwritten. */
export async function newPrompt(extension: vscode.Uri): Promise<void> {
  const place = await chosenFolder();
  if (place === undefined) {
    const answer = await vscode.window.showInformationMessage("promptls: open a folder first; prompts live in files.", "Open Folder");
    if (answer !== undefined) {
      await vscode.commands.executeCommand("workbench.action.files.openFolder");
    }
    return;
  }
  const starter = await vscode.window.showQuickPick(STARTERS, { title: "New Prompt", placeHolder: "What to begin with" });
  if (starter === undefined) {
    return;
  }
  const name = await vscode.window.showInputBox({
    title: "New Prompt",
    prompt: "The name of the prompt; its file ends in .yml.j2",
    value: "prompt",
    validateInput: (typed) => objectionTo(typed, starter, place),
  });
  if (name === undefined) {
    return;
  }
  const files = Object.entries(starter.files(withoutEnding(name)));
  for (const [carried, made] of files) {
    const source = await vscode.workspace.fs.readFile(vscode.Uri.joinPath(extension, "starter", carried));
    const text = Buffer.from(source).toString("utf8").replaceAll("{{NAME}}", withoutEnding(name));
    await vscode.workspace.fs.writeFile(vscode.Uri.joinPath(place, made), Buffer.from(text, "utf8"));
  }
  const [[, prompt] = ["", ""]] = files;
  await vscode.window.showTextDocument(vscode.Uri.joinPath(place, prompt));
}

async function chosenFolder(): Promise<vscode.Uri | undefined> {
  const folders = vscode.workspace.workspaceFolders ?? [];
  if (folders.length > 1) {
    return (await vscode.window.showWorkspaceFolderPick({ placeHolder: "Where the prompt is made" }))?.uri;
  }
  return folders[0]?.uri;
}

async function objectionTo(typed: string, starter: Starter, place: vscode.Uri): Promise<string | undefined> {
  const name = withoutEnding(typed);
  if (!/^[A-Za-z][\w-]*$/.test(name)) {
    return "Letters, digits, hyphens and underscores, with a letter first";
  }
  for (const made of Object.values(starter.files(name))) {
    try {
      await vscode.workspace.fs.stat(vscode.Uri.joinPath(place, made));
      return `There is a file ${made} already`;
    } catch {
      // It is not there, as it should be.
    }
  }
  return undefined;
}

function withoutEnding(typed: string): string {
  return typed.trim().replace(/\.ya?ml\.j2$/, "");
}
