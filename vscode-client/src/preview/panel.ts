/** The preview: what the model gets, beside the template, while it is typed. */

import * as path from "node:path";

import * as vscode from "vscode";

import { activePrompt } from "../documents";
import { latestOnly } from "../latest";
import { pageOf } from "../page";
import type { PreviewArguments, PreviewResult } from "../protocol";
import type { Session } from "../session";
import type { Choice, FromPage, ToPage } from "./messages";

export const PREVIEW_VIEW = "promptls.preview";
const SETTLED_MILLISECONDS = 120;

/** One panel a window, which follows the prompt that is edited. */
export class PreviewPanel implements vscode.Disposable {
  readonly #session: Session;
  readonly #extension: vscode.Uri;
  readonly #refresh: { request(): void; dispose(): void };
  readonly #always: vscode.Disposable[];
  #panel: vscode.WebviewPanel | undefined;
  #uri: string | undefined;
  #choice: Choice = {};

  constructor(session: Session, extension: vscode.Uri) {
    this.#session = session;
    this.#extension = extension;
    this.#refresh = latestOnly((token) => this.#ask(token), SETTLED_MILLISECONDS);
    this.#always = [
      session.onChanged(({ uri }) => {
        this.#changed(uri);
      }),
      session.onStarted(() => {
        this.#refresh.request();
      }),
      vscode.workspace.onDidChangeTextDocument(({ document }) => {
        this.#changed(document.uri.toString());
      }),
      vscode.window.onDidChangeActiveTextEditor(() => {
        const prompt = activePrompt();
        if (prompt !== undefined && this.#panel !== undefined) {
          this.#follow(prompt.uri.toString(), {});
        }
      }),
      vscode.window.onDidChangeTextEditorSelection(({ textEditor, selections }) => {
        if (textEditor.document.uri.toString() === this.#uri && selections[0] !== undefined) {
          this.#post({ type: "cursor", line: selections[0].active.line });
        }
      }),
    ];
  }

  /** Shows the preview of a prompt beside it; the editor keeps the focus. */
  show(argument: PreviewArguments): void {
    if (this.#panel === undefined) {
      this.adopt(
        vscode.window.createWebviewPanel(
          PREVIEW_VIEW,
          "Preview",
          { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true },
          { enableScripts: true },
        ),
      );
    } else {
      this.#panel.reveal(undefined, true);
    }
    const { uri, ...choice } = argument;
    this.#follow(uri, choice);
  }

  /** Takes over a panel: a new one, or one that VS Code brings back after a reload. */
  adopt(panel: vscode.WebviewPanel, uri?: string): void {
    this.#panel?.dispose();
    this.#panel = panel;
    panel.iconPath = vscode.Uri.joinPath(this.#extension, "icons", "preview.svg");
    panel.webview.options = {
      enableScripts: true,
      localResourceRoots: [vscode.Uri.joinPath(this.#extension, "out", "webview")],
    };
    panel.webview.onDidReceiveMessage((message: FromPage) => this.#receive(message));
    panel.onDidDispose(() => {
      if (this.#panel === panel) {
        this.#panel = undefined;
        this.#uri = undefined;
      }
    });
    panel.onDidChangeViewState(() => {
      if (panel.visible) {
        this.#refresh.request();
      }
    });
    panel.webview.html = pageOf(panel.webview, this.#extension, "preview", "Preview");
    if (uri !== undefined) {
      this.#follow(uri, {});
    }
  }

  dispose(): void {
    this.#refresh.dispose();
    this.#panel?.dispose();
    vscode.Disposable.from(...this.#always).dispose();
  }

  #follow(uri: string, choice: Choice): void {
    if (uri !== this.#uri) {
      this.#choice = {};
    }
    this.#uri = uri;
    this.#choice = { ...this.#choice, ...choice };
    if (this.#panel !== undefined) {
      this.#panel.title = `Preview ${path.posix.basename(vscode.Uri.parse(uri).path)}`;
    }
    this.#refresh.request();
  }

  #changed(uri: string): void {
    // An included file tells through the server which prompts it changes.
    if (uri === this.#uri && this.#panel?.visible === true) {
      this.#refresh.request();
    }
  }

  async #ask(token: vscode.CancellationToken): Promise<void> {
    const uri = this.#uri;
    if (uri === undefined || this.#panel === undefined) {
      return;
    }
    try {
      const argument = { uri, ...definedOnly(this.#choice) };
      const result = await this.#session.execute<PreviewResult | null>("promptls.preview", argument, token);
      if (!token.isCancellationRequested && uri === this.#uri) {
        this.#post(
          result === null
            ? { type: "fail", uri, message: "This file is not a prompt that can be rendered." }
            : { type: "show", result },
        );
      }
    } catch (error) {
      if (!token.isCancellationRequested && uri === this.#uri) {
        this.#post({ type: "fail", uri, message: error instanceof Error ? error.message : String(error) });
      }
    }
  }

  async #receive(message: FromPage): Promise<void> {
    switch (message.type) {
      case "ready":
        this.#refresh.request();
        return;
      case "choose":
        this.#choice = message.choice;
        this.#refresh.request();
        return;
      case "copy":
        await vscode.env.clipboard.writeText(message.text);
        vscode.window.setStatusBarMessage(`$(check) Copied ${message.what}`, 3000);
        return;
      case "reveal":
        await this.#reveal(message.line, message.path);
    }
  }

  async #reveal(line: number, file: string | undefined): Promise<void> {
    if (this.#uri === undefined) {
      return;
    }
    const prompt = vscode.Uri.parse(this.#uri);
    const uri = file === undefined || file === prompt.fsPath ? prompt : vscode.Uri.file(file);
    const shown = vscode.window.visibleTextEditors.find((editor) => editor.document.uri.toString() === this.#uri);
    const at = new vscode.Range(line, 0, line, 0);
    const editor = await vscode.window.showTextDocument(
      uri,
      { viewColumn: shown?.viewColumn ?? vscode.ViewColumn.One, selection: at },
    );
    editor.revealRange(at, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  }

  #post(message: ToPage): void {
    void this.#panel?.webview.postMessage(message);
  }
}

function definedOnly(choice: Choice): object {
  return Object.fromEntries(Object.entries(choice).filter(([, value]) => value !== undefined));
}
