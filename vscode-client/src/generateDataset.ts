/** `promptls.generateDataset`: asks for the parameters of a test dataset step by step. */

import * as vscode from "vscode";

import { exists } from "./files";

/**
 * Suffixes of documents offered in the dialog; the server also reads other files if they are passed
 * explicitly.
 */
const DOCUMENTS = "**/*.{md,markdown,rst,txt}";
const NOT_DOCUMENTS = "**/{node_modules,.venv,venv,.git,dist,build}/**";
const MAX_DOCUMENTS = 2000;

export interface DatasetArgument {
  documents: string[];
  output: string;
  size: number;
  model?: string;
}

interface ModelItem extends vscode.QuickPickItem {
  /** The model's name; undefined for the project's default model, empty to ask for a name. */
  model?: string;
}

const MODELS: readonly ModelItem[] = [
  { label: "The project's model", description: "default_model in promptls.toml, else local:smollm2" },
  {
    label: "local:smollm2",
    description: "runs on this machine, free; small, so many of its questions are discarded",
    model: "local:smollm2",
  },
  {
    label: "Another model…",
    description: "such as openai:gpt-4.1-mini, or a name in promptls.toml",
    model: "",
  },
];

/** Asks for documents, number, model and file; returns undefined if the user cancels a step. */
export async function askForDataset(): Promise<DatasetArgument | undefined> {
  const documents = await chosenDocuments();
  const place =
    documents?.[0] === undefined ? undefined : vscode.workspace.getWorkspaceFolder(documents[0])?.uri;
  if (documents === undefined || place === undefined) {
    return undefined;
  }
  const size = await vscode.window.showInputBox({
    title: "Generate Test Data: 2 of 4",
    prompt: "Number of queries",
    value: "20",
    validateInput: (text) => (/^[1-9]\d{0,5}$/.test(text.trim()) ? undefined : "A whole number of 1 or more"),
  });
  const model = size === undefined ? undefined : await chosenModel();
  if (size === undefined || model === undefined) {
    return undefined;
  }
  const file = await vscode.window.showInputBox({
    title: "Generate Test Data: 4 of 4",
    prompt: "The dataset file, relative to the workspace folder: .csv, .jsonl, .json or .parquet",
    value: "tests.csv",
    validateInput: (text) => nameProblem(text.trim(), place),
  });
  if (file === undefined) {
    return undefined;
  }
  return {
    documents: documents.map(String),
    output: vscode.Uri.joinPath(place, file.trim()).toString(),
    size: Number(size.trim()),
    ...(model === "" ? {} : { model }),
  };
}

async function chosenDocuments(): Promise<vscode.Uri[] | undefined> {
  const found = await vscode.workspace.findFiles(DOCUMENTS, NOT_DOCUMENTS, MAX_DOCUMENTS);
  if (found.length === 0) {
    await vscode.window.showInformationMessage(
      "promptls: there are no documents (.md, .rst, .txt) in the workspace.",
    );
    return undefined;
  }
  const items = found
    .map((uri) => ({ label: vscode.workspace.asRelativePath(uri), uri }))
    .sort((one, other) => one.label.localeCompare(other.label));
  const chosen = await vscode.window.showQuickPick(items, {
    title: "Generate Test Data: 1 of 4",
    placeHolder: "The documents that the questions are about",
    canPickMany: true,
  });
  return chosen === undefined || chosen.length === 0 ? undefined : chosen.map(({ uri }) => uri);
}

/**
 * Returns the model's name, an empty text for the project's default model, or undefined if the user cancels.
 */
async function chosenModel(): Promise<string | undefined> {
  const chosen = await vscode.window.showQuickPick(MODELS, {
    title: "Generate Test Data: 3 of 4",
    placeHolder: "The model that writes the questions and answers",
  });
  if (chosen?.model !== "") {
    return chosen === undefined ? undefined : (chosen.model ?? "");
  }
  const name = await vscode.window.showInputBox({
    title: "Generate Test Data: 3 of 4",
    prompt: "The model: provider:model, or a name in promptls.toml",
    value: "openai:gpt-4.1-mini",
    validateInput: (text) => (text.trim() === "" ? "The name of a model" : undefined),
  });
  return name?.trim();
}

async function nameProblem(name: string, place: vscode.Uri): Promise<string | undefined> {
  if (!/^[^\\:*?"<>|]+\.(csv|jsonl|json|parquet)$/i.test(name)) {
    return "A name that ends in .csv, .jsonl, .json or .parquet";
  }
  return (await exists(vscode.Uri.joinPath(place, name))) ? "The file already exists" : undefined;
}
