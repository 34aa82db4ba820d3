/** The preview: the messages that the model gets, beside the template. */

import { randomUUID } from "node:crypto";
import * as path from "node:path";

import { type FromPage, QUESTIONS, type ToPage } from "@promptls/web/preview/messages";
import { errorMessage } from "@promptls/web/shared/errorMessage";
import type { AskResult, PreviewArguments, PreviewChoice, PreviewResult } from "@promptls/web/wire/preview";
import * as vscode from "vscode";

import type { CommandArgument } from "../arguments";
import type { Client } from "../client";
import { coalesce } from "../debounce";
import { activePrompt, visiblePrompt } from "../documents";
import { copyText, fitsInPage, loadPage, panelBeside, preparePanel } from "../page";
import { remedyOf } from "../remedies";

export const PREVIEW_VIEW = "promptls.preview";

/**
 * Milliseconds that the page waits for its first content, because VS Code takes longer to create its frame.
 */
const FIRST_MILLISECONDS = 60;

/** Shows a failure with a button for its remedy; resolves to what to repeat afterwards. */
type OfferRemedy = (error: unknown, argument: CommandArgument) => Promise<CommandArgument | undefined>;

/** One panel per window, which follows the active prompt. */
export class PreviewPanel implements vscode.Disposable {
  readonly #client: Client;
  readonly #offerRemedy: OfferRemedy;
  readonly #extension: vscode.Uri;
  readonly #kept: vscode.Memento;
  readonly #refresh: { request(): void; dispose(): void };
  readonly #always: vscode.Disposable[];
  #panel: vscode.WebviewPanel | undefined;
  #uri: string | undefined;
  #choice: PreviewChoice = {};
  /** The template files of the current rendering. */
  #files: ReadonlySet<string> = new Set();
  /** The last message to the page. */
  #latest: ToPage | undefined;
  /** The message embedded in the page. */
  #first: ToPage | undefined;
  /** Pending until the page is loaded. */
  #loading: NodeJS.Timeout | undefined;
  #isReady = false;
  readonly #chosen = new vscode.EventEmitter<void>();
  /** The page has selected other data. */
  readonly onChosen = this.#chosen.event;
  /** The current request to a model. */
  #asking: vscode.CancellationTokenSource | undefined;

  constructor(client: Client, offer: OfferRemedy, { extensionUri, workspaceState }: vscode.ExtensionContext) {
    this.#client = client;
    this.#offerRemedy = offer;
    this.#extension = extensionUri;
    this.#kept = workspaceState;
    this.#refresh = coalesce((token) => this.#ask(token));
    this.#always = [
      client.onChanged(({ uri }) => {
        this.#changed(uri);
      }),
      client.onStarted(() => {
        this.#refresh.request();
      }),
      vscode.workspace.onDidChangeTextDocument(({ document }) => {
        this.#changed(document.uri.toString());
      }),
      vscode.window.onDidChangeActiveTextEditor(() => {
        const uri = activePrompt()?.uri.toString();
        // An included file belongs to the current rendering.
        if (uri !== undefined && this.#panel !== undefined && !this.#files.has(uri)) {
          this.#follow(uri, {});
        }
      }),
      vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => {
        this.#tellCursor(textEditor);
      }),
    ];
  }

  /** Shows the preview beside a prompt; the editor keeps the focus. */
  show(argument: PreviewArguments): void {
    const { uri, ...choice } = argument;
    // The server renders while the page is being opened.
    this.#follow(uri, choice);
    if (this.#panel === undefined) {
      this.#adopt(panelBeside(PREVIEW_VIEW, "Preview"));
    } else {
      this.#panel.reveal(undefined, true);
    }
  }

  /** Restores a panel after a reload, with the last prompt. */
  restore(panel: vscode.WebviewPanel): void {
    this.#adopt(panel);
    const uri = this.#kept.get<string>(PREVIEW_VIEW) ?? (activePrompt() ?? visiblePrompt())?.uri.toString();
    if (uri === undefined) {
      panel.dispose();
    } else {
      this.#follow(uri, {});
    }
  }

  #adopt(panel: vscode.WebviewPanel): void {
    this.#panel?.dispose();
    this.#panel = panel;
    this.#isReady = false;
    panel.webview.onDidReceiveMessage((message: FromPage) => this.#receive(message));
    panel.onDidDispose(() => {
      if (this.#panel === panel) {
        this.#panel = undefined;
        this.#uri = undefined;
        this.#latest = undefined;
        this.#files = new Set();
      }
    });
    panel.onDidChangeViewState(() => {
      if (panel.visible) {
        this.#refresh.request();
      }
    });
    preparePanel(panel, this.#extension, "preview");
    clearTimeout(this.#loading);
    this.#loading = setTimeout(() => {
      this.#load();
    }, FIRST_MILLISECONDS);
    this.#name();
  }

  dispose(): void {
    this.#refresh.dispose();
    this.#chosen.dispose();
    clearTimeout(this.#loading);
    this.#panel?.dispose();
    vscode.Disposable.from(...this.#always).dispose();
  }

  #follow(uri: string, choice: PreviewChoice): void {
    if (uri !== this.#uri) {
      this.#choice = {};
      this.#files = new Set();
      this.#latest = undefined;
    }
    this.#uri = uri;
    void this.#kept.update(PREVIEW_VIEW, uri);
    this.#choice = { ...this.#choice, ...choice };
    this.#name();
    this.#refresh.request();
  }

  #name(): void {
    if (this.#panel !== undefined && this.#uri !== undefined) {
      this.#panel.title = `Preview ${path.posix.basename(vscode.Uri.parse(this.#uri).path)}`;
    }
  }

  #changed(uri: string): void {
    // The server reports which prompts an included file affects; this is only faster.
    if ((uri === this.#uri || this.#files.has(uri)) && this.#panel?.visible === true) {
      this.#refresh.request();
    }
  }

  async #ask(token: vscode.CancellationToken): Promise<void> {
    const uri = this.#uri;
    if (uri === undefined) {
      return;
    }
    try {
      const argument = { uri, ...definedOnly(this.#choice) };
      const result = await this.#client.execute<PreviewResult | null>("promptls.preview", argument, token);
      if (token.isCancellationRequested || uri !== this.#uri) {
        return;
      }
      if (result === null) {
        this.#show({ type: "fail", uri, message: "This file is not a prompt that can be rendered." });
        return;
      }
      const { files } = result;
      if (files.length > 0) {
        this.#files = new Set(files);
      }
      this.#show({ type: "show", result });
      const editor = vscode.window.activeTextEditor;
      if (editor !== undefined) {
        this.#tellCursor(editor);
      }
    } catch (error) {
      if (!token.isCancellationRequested && uri === this.#uri) {
        this.#show({ type: "fail", uri, message: errorMessage(error) });
      }
    }
  }

  #tellCursor({ document, selection }: vscode.TextEditor): void {
    const uri = document.uri.toString();
    if (this.#isReady && (uri === this.#uri || this.#files.has(uri))) {
      const { line, character } = selection.active;
      this.#post({ type: "cursor", uri, line, character });
    }
  }

  async #receive(message: FromPage): Promise<void> {
    switch (message.type) {
      case "ready":
        this.#isReady = true;
        if (this.#latest === undefined) {
          this.#refresh.request();
        } else if (this.#latest !== this.#first) {
          // A page reloaded in another window has received nothing.
          this.#post(this.#latest);
        }
        return;
      case "choose":
        this.#choice = message.choice;
        this.#refresh.request();
        this.#chosen.fire();
        return;
      case "copy":
        await copyText(message.text, message.what);
        return;
      case "lab":
        await vscode.commands.executeCommand("promptls.truncationLab", { uri: this.#uri });
        return;
      case "trust":
        await vscode.commands.executeCommand("workbench.trust.manage");
        return;
      case "ask":
        await this.#answer(message.id, message.question, message.argument);
        return;
      case "stop":
        this.#asking?.cancel();
        return;
      case "confirmed":
        // VS Code itself asks the questions.
        return;
      case "reveal":
        await this.#reveal(message);
    }
  }

  /** Forwards an allowed request of the page to the server, about the current prompt. */
  async #answer(id: number, question: string, argument: object): Promise<void> {
    const command = Object.entries(QUESTIONS).find(([name]) => name === question)?.[1];
    try {
      if (command === undefined) {
        throw new Error(`there is no question ${question}`);
      }
      const request = definedOnly({ ...argument, uri: this.#uri });
      const result =
        command === QUESTIONS.model
          ? await this.#askModel(request)
          : await this.#client.execute<unknown>(command, request);
      this.#post({ type: "answer", id, result });
    } catch (error) {
      const message = errorMessage(error);
      this.#post({ type: "answer", id, error: message });
      if (command === QUESTIONS.model && remedyOf(message) !== undefined) {
        await this.#askAfterRemedy(error);
      }
    }
  }

  /** Offers the remedy that makes the model available, such as a key, and lets the page ask again. */
  async #askAfterRemedy(error: unknown): Promise<void> {
    const uri = this.#uri;
    if (uri !== undefined && (await this.#offerRemedy(error, { uri })) !== undefined && uri === this.#uri) {
      this.#post({ type: "askAgain" });
    }
  }

  /** Asks a model; sends its text to the page as it arrives. The page can cancel it. */
  async #askModel(argument: object): Promise<AskResult> {
    const follow = randomUUID();
    const asking = new vscode.CancellationTokenSource();
    this.#asking = asking;
    const news = this.#client.onAnswerText((event) => {
      if (event.follow === follow) {
        this.#post({ type: "answerText", text: event.text });
      }
    });
    try {
      return await this.#client.executeWithModel<AskResult>(
        "promptls.ask",
        { ...argument, follow },
        asking.token,
      );
    } catch (error) {
      if (asking.token.isCancellationRequested) {
        return { answer: null, message: "Stopped." };
      }
      throw error;
    } finally {
      news.dispose();
      asking.dispose();
      this.#asking = undefined;
    }
  }

  async #reveal({ line, character = 0, uri, path: file }: FromPage & { type: "reveal" }): Promise<void> {
    if (this.#uri === undefined) {
      return;
    }
    const prompt = vscode.Uri.parse(this.#uri);
    const target =
      uri !== undefined && this.#files.has(uri)
        ? vscode.Uri.parse(uri)
        : file === undefined || file === prompt.fsPath
          ? prompt
          : vscode.Uri.file(file);
    const shown = vscode.window.visibleTextEditors.find(
      ({ document }) => document.uri.toString() === target.toString(),
    );
    const beside = vscode.window.visibleTextEditors.find(
      ({ document }) => document.uri.toString() === this.#uri,
    );
    const at = new vscode.Range(line, character, line, character);
    const viewColumn = (shown ?? beside)?.viewColumn ?? vscode.ViewColumn.One;
    const editor = await vscode.window.showTextDocument(target, { viewColumn, selection: at });
    editor.revealRange(at, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  }

  /** Shows a result as soon as the page is loaded. */
  #show(message: ToPage): void {
    this.#latest = message;
    if (this.#loading !== undefined && fitsInPage(message)) {
      this.#load(message);
      return;
    }
    // VS Code queues messages to a page that is still loading.
    this.#post(message);
  }

  /** Loads the page, which shows `first` immediately. */
  #load(first?: ToPage): void {
    clearTimeout(this.#loading);
    this.#loading = undefined;
    this.#first = first;
    if (this.#panel !== undefined) {
      loadPage(this.#panel, this.#extension, "preview", "Preview", first);
    }
  }

  #post(message: ToPage): void {
    void this.#panel?.webview.postMessage(message);
  }
}

function definedOnly(choice: object): object {
  return Object.fromEntries(Object.entries(choice).filter(([, value]) => value !== undefined));
}
