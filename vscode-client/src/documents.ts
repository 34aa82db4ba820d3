/** Which documents are prompts. */

import * as vscode from "vscode";

import { PROMPTS } from "./files";
import { anyPrompt, CANDIDATES, looksLikePrompt, SAVED_KEY, SETTINGS } from "./promptFiles";

export const LANGUAGE = "yaml-jinja-prompt";

/** Prompts by language id, and by file name if another extension sets the language. */
export const DOCUMENTS = [
  { scheme: "file", language: LANGUAGE },
  { scheme: "untitled", language: LANGUAGE },
  { scheme: "file", pattern: PROMPTS },
  // Prompts and metrics saved by Ragas; the server ignores all other JSON.
  { scheme: "file", language: "json", pattern: "**/{prompts,metrics,english}/*.json" },
  { scheme: "file", language: "json", pattern: "**/*_english.json" },
  { scheme: "file", language: "json", pattern: "**/*_prompt_*.json" },
];

/** File names of prompts, including those saved by Ragas. */
const NAME = /(\.ya?ml\.j2|_english\.json|\/english\/[^/]+\.json)$/;

/**
 * Samples, in the folder where `promptls new` writes them; the server reports the prompts' problems with
 * them.
 */
export const SAMPLES = { scheme: "file", pattern: "**/samples/*.{json,yml,yaml}" };

/** What the server reads beside prompts, and completes. */
const BESIDE_PROMPTS = [SAMPLES, { scheme: "file", pattern: SETTINGS }];

export function isBesidePrompts(document: vscode.TextDocument): boolean {
  return vscode.languages.match(BESIDE_PROMPTS, document) > 0;
}

const LINES_WITH_KEYS = 50;

export function isPrompt(document: vscode.TextDocument): boolean {
  return (
    document.languageId === LANGUAGE ||
    (document.uri.scheme === "file" && NAME.test(document.uri.path)) ||
    (document.languageId === "json" &&
      vscode.languages.match(DOCUMENTS, document) > 0 &&
      hasSavedKey(document))
  );
}

const LINES_OF_PART = 400;

/**
 * Whether the text of a document looks like a prompt; the file name alone is not enough, because Ansible and
 * Helm templates have the same names. In a document without a file, the user has chosen the language; an
 * empty file without a folder is a new prompt.
 */
export function hasPromptText(document: vscode.TextDocument): boolean {
  const text = document.getText(new vscode.Range(0, 0, LINES_OF_PART, 0));
  const isNew = vscode.workspace.workspaceFolders === undefined && text.trim() === "";
  return document.isUntitled || isNew || looksLikePrompt(document.uri.path, text);
}

/** Imports of the libraries whose uses the server checks, and the keys of OpenCompass configurations. */
const CHECKED_IN_PYTHON =
  /^[ \t]*(?:from|import)[ \t]+(?:promptls|ragas|prompt_poet)\b|infer_cfg|meta_template|read_base|opencompass\.models/m;

/** Whether a document is a Python file in which the server may find something. */
export function isCheckedProgram(document: vscode.TextDocument): boolean {
  return document.languageId === "python" && CHECKED_IN_PYTHON.test(document.getText());
}

function hasSavedKey(document: vscode.TextDocument): boolean {
  return SAVED_KEY.test(document.getText(new vscode.Range(0, 0, LINES_WITH_KEYS, 0)));
}

const MAX_LISTED = 200;

/**
 * Returns the prompt that a command without an argument applies to: the active one, else the only visible
 * one, else the only one in a tab or in the workspace, else the user's choice. A panel or a walkthrough may
 * have the focus.
 */
export async function promptToUse(): Promise<string | undefined> {
  const active = activePrompt();
  if (active !== undefined) {
    return active.uri.toString();
  }
  const visible = vscode.window.visibleTextEditors.map(({ document }) => document).filter(isPrompt);
  const inTabs = promptsInTabs();
  for (const uris of [visible.map(({ uri }) => uri.toString()), inTabs]) {
    const [first, ...others] = new Set(uris);
    if (first !== undefined && others.length === 0) {
      return first;
    }
  }
  const files = await vscode.workspace.findFiles(PROMPTS, undefined, MAX_LISTED);
  if (files.length <= 1) {
    return files[0]?.toString();
  }
  const items = files
    .map((uri) => ({ label: vscode.workspace.asRelativePath(uri), uri: uri.toString() }))
    .sort((left, right) => left.label.localeCompare(right.label));
  return (await vscode.window.showQuickPick(items, { title: "Which prompt?" }))?.uri;
}

/** The prompts in tabs, including tabs that have not been shown since the window was opened. */
function promptsInTabs(): string[] {
  return vscode.window.tabGroups.all
    .flatMap(({ tabs }) => tabs)
    .flatMap(({ input }) => (input instanceof vscode.TabInputText ? [input.uri] : []))
    .filter(({ path }) => NAME.test(path))
    .map((uri) => uri.toString());
}

export async function hasPrompts(): Promise<boolean> {
  return (await vscode.workspace.findFiles(PROMPTS, undefined, 1)).length > 0;
}

const MAX_READ = 500;

/** Whether the workspace contains prompts, and not only other templates with such names. */
export async function isPromptProject(): Promise<boolean> {
  const settings = await vscode.workspace.findFiles(SETTINGS, undefined, 1);
  if (settings.length > 0) {
    return true;
  }
  const files = await vscode.workspace.findFiles(CANDIDATES, undefined, MAX_READ);
  return anyPrompt(files.map(({ fsPath }) => fsPath));
}

/** The prompt in the active editor. */
export function activePrompt(): vscode.TextDocument | undefined {
  const document = vscode.window.activeTextEditor?.document;
  return document !== undefined && isPrompt(document) ? document : undefined;
}

/** A prompt in one of the visible editors, with or without focus. */
export function visiblePrompt(): vscode.TextDocument | undefined {
  return vscode.window.visibleTextEditors.map(({ document }) => document).find(isPrompt);
}
