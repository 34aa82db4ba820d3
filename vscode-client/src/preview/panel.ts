/** The preview: the messages that the model gets, beside the template. */

import { randomUUID } from "node:crypto";

import { type FromPage, QUESTIONS, type ToPage } from "@promptls/web/preview/messages";
import { errorMessage } from "@promptls/web/shared/errorMessage";
import { baseName } from "@promptls/web/shared/format";
import type { AskResult, PreviewArguments, PreviewChoice, PreviewResult } from "@promptls/web/wire/preview";
import * as vscode from "vscode";

import type { CommandArgument } from "../arguments";
import type { Client } from "../client";
import { coalesce } from "../debounce";
import { activePrompt } from "../documents";
import { PagePanel } from "../panel";
import { remedyOf } from "../remedies";

/**
 * Milliseconds that the page waits for its first content, because VS Code takes longer to create its frame.
 */
const FIRST_MILLISECONDS = 60;

/** Shows a failure with a button for its remedy; resolves to what to repeat afterwards. */
type OfferRemedy = (error: unknown, argument: CommandArgument) => Promise<CommandArgument | undefined>;

/** Follows the active prompt. */
export class PreviewPanel implements vscode.Disposable {
  readonly #client: Client;
  readonly #offerRemedy: OfferRemedy;
  readonly #panel: PagePanel<FromPage, ToPage, string>;
  readonly #refresh: { request(): void; dispose(): void };
  readonly #subscriptions: vscode.Disposable;
  #uri: string | undefined;
  #choice: PreviewChoice = {};
  /** The template files of the current rendering. */
  #files: ReadonlySet<string> = new Set();
  /** The last message to the page. */
  #latest: ToPage | undefined;
  #isReady = false;
  readonly #chosen = new vscode.EventEmitter<void>();
  /** The page has selected other data. */
  readonly onChosen = this.#chosen.event;
  /** The current request to a model. */
  #asking: vscode.CancellationTokenSource | undefined;

  constructor(client: Client, offer: OfferRemedy, context: vscode.ExtensionContext) {
    this.#client = client;
    this.#offerRemedy = offer;
    this.#refresh = coalesce((token) => this.#ask(token));
    this.#panel = new PagePanel(context, {
      view: "promptls.preview",
      page: "preview",
      icon: "preview",
      title: "Preview",
      firstMilliseconds: FIRST_MILLISECONDS,
      receive: (message) => this.#receive(message),
      questions: QUESTIONS,
      answer: (command, argument) => this.#answer(command, argument),
      restore: (uri) => this.#follow(uri, {}),
      shown: () => this.#refresh.request(),
      closed: () => {
        this.#asking?.cancel();
        this.#uri = undefined;
        this.#latest = undefined;
        this.#files = new Set();
        this.#isReady = false;
      },
    });
    this.#subscriptions = vscode.Disposable.from(
      this.#panel,
      this.#refresh,
      this.#chosen,
      client.onChanged(({ uri }) => this.#changed(uri)),
      client.onStarted(() => this.#refresh.request()),
      vscode.workspace.onDidChangeTextDocument(({ document }) => this.#changed(document.uri.toString())),
      vscode.window.onDidChangeActiveTextEditor(() => {
        const uri = activePrompt()?.uri.toString();
        // An included file belongs to the current rendering.
        if (uri !== undefined && this.#panel.isOpen && !this.#files.has(uri)) {
          this.#follow(uri, {});
        }
      }),
      vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => this.#sendCursor(textEditor)),
    );
  }

  /** Shows the preview beside a prompt; the editor keeps the focus. */
  show(argument: PreviewArguments): void {
    const { uri, ...choice } = argument;
    // The server renders while the page is being opened.
    this.#follow(uri, choice);
    this.#panel.reveal();
  }

  dispose(): void {
    this.#subscriptions.dispose();
  }

  #follow(uri: string, choice: PreviewChoice): void {
    if (uri !== this.#uri) {
      this.#choice = {};
      this.#files = new Set();
      this.#latest = undefined;
    }
    this.#uri = uri;
    this.#panel.remember(uri);
    this.#choice = { ...this.#choice, ...choice };
    this.#panel.title = `Preview ${baseName(uri)}`;
    this.#refresh.request();
  }

  #changed(uri: string): void {
    // The server reports which prompts an included file affects; this is only faster.
    if ((uri === this.#uri || this.#files.has(uri)) && this.#panel.isVisible) {
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
        this.#sendCursor(editor);
      }
    } catch (error) {
      if (!token.isCancellationRequested && uri === this.#uri) {
        this.#show({ type: "fail", uri, message: errorMessage(error) });
      }
    }
  }

  #sendCursor({ document, selection }: vscode.TextEditor): void {
    const uri = document.uri.toString();
    if (this.#isReady && (uri === this.#uri || this.#files.has(uri))) {
      const { line, character } = selection.active;
      this.#panel.post({ type: "cursor", uri, line, character });
    }
  }

  async #receive(message: FromPage): Promise<void> {
    switch (message.type) {
      case "ready":
        this.#isReady = true;
        if (this.#latest === undefined) {
          this.#refresh.request();
        } else {
          // A page that was moved to another window has been loaded again.
          this.#panel.post(this.#latest);
        }
        return;
      case "choose":
        this.#choice = message.choice;
        this.#refresh.request();
        this.#chosen.fire();
        return;
      case "lab":
        await vscode.commands.executeCommand("promptls.truncationLab", { uri: this.#uri });
        return;
      case "trust":
        await vscode.commands.executeCommand("workbench.trust.manage");
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

  /** Answers a request of the page about the current prompt. */
  async #answer(command: string, argument: object): Promise<unknown> {
    const request = definedOnly({ ...argument, uri: this.#uri });
    if (command !== QUESTIONS.model) {
      return this.#client.execute(command, request);
    }
    try {
      return await this.#askModel(request);
    } catch (error) {
      if (remedyOf(errorMessage(error)) !== undefined) {
        // Not awaited: the page shows the error meanwhile.
        void this.#askAfterRemedy(error);
      }
      throw error;
    }
  }

  /** Offers the remedy that makes the model available, such as a key, and lets the page ask again. */
  async #askAfterRemedy(error: unknown): Promise<void> {
    const uri = this.#uri;
    if (uri !== undefined && (await this.#offerRemedy(error, { uri })) !== undefined && uri === this.#uri) {
      this.#panel.post({ type: "askAgain" });
    }
  }

  /** Asks a model; sends its text to the page as it arrives. The page can cancel it. */
  async #askModel(argument: object): Promise<AskResult> {
    const follow = randomUUID();
    const asking = new vscode.CancellationTokenSource();
    this.#asking = asking;
    const news = this.#client.onAnswerText((event) => {
      if (event.follow === follow) {
        this.#panel.post({ type: "answerText", text: event.text });
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
      if (this.#asking === asking) {
        this.#asking = undefined;
      }
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

  #show(message: ToPage): void {
    this.#latest = message;
    this.#panel.post(message);
  }
}

function definedOnly(choice: object): object {
  return Object.fromEntries(Object.entries(choice).filter(([, value]) => value !== undefined));
}
