/** Pastes text with several lines into block scalars of prompts. */

import * as vscode from "vscode";

import { LANGUAGE } from "./documents";
import { indentPasted } from "./pasting";

const KIND = vscode.DocumentDropOrPasteEditKind.Text.append("indented");
const PLAIN_TEXT = "text/plain";

export function registerPasteProvider(): vscode.Disposable {
  return vscode.languages.registerDocumentPasteEditProvider(
    { language: LANGUAGE },
    { provideDocumentPasteEdits },
    { providedPasteEditKinds: [KIND], pasteMimeTypes: [PLAIN_TEXT] },
  );
}

async function provideDocumentPasteEdits(
  document: vscode.TextDocument,
  [range, ...others]: readonly vscode.Range[],
  dataTransfer: vscode.DataTransfer,
): Promise<vscode.DocumentPasteEdit[]> {
  const pasted = await dataTransfer.get(PLAIN_TEXT)?.asString();
  if (pasted === undefined || range === undefined || others.length > 0) {
    return [];
  }
  const above = document
    .getText(new vscode.Range(0, 0, range.start.line, 0))
    .split(/\r?\n/)
    .slice(0, -1);
  const before = document.lineAt(range.start).text.slice(0, range.start.character);
  const after = document.lineAt(range.end).text.slice(range.end.character);
  const text = indentPasted(above, before, after, pasted);
  if (text === undefined) {
    return [];
  }
  // As an edit, because VS Code indents the inserted text of a paste, also on its empty lines.
  const edit = new vscode.DocumentPasteEdit("", "Paste Indented", KIND);
  edit.additionalEdit = new vscode.WorkspaceEdit();
  edit.additionalEdit.replace(document.uri, range, text);
  return [edit];
}
