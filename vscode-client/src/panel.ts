/** A webview panel with a page. A window has at most one panel of each page. */

import { errorMessage } from "@promptls/web/shared/errorMessage";
import type { Answer, Ask, Copy } from "@promptls/web/shared/messages";
import * as vscode from "vscode";

import { fitsInPage, pageOf } from "./page";

interface PanelOptions<FromPage, State> {
  /** The view type, and the key of the stored state. */
  view: string;
  /** The folder of the page in `web/src`. */
  page: string;
  icon: string;
  title: string;
  /** Milliseconds that the page waits for its first message, which is then embedded in it. */
  firstMilliseconds?: number;
  /** Receives the messages of the page, except those that every page may send. */
  receive: (message: FromPage) => Promise<void>;
  /** The commands that answer requests of the page, by the names of the requests. */
  questions?: Readonly<Record<string, string>>;
  answer?: (command: string, argument: object) => Promise<unknown>;
  /** Shows what was shown before the window was reloaded. */
  restore: (state: State) => void;
  /** The panel has become visible. */
  shown?: () => void;
  closed?: () => void;
}

/** The open panels. */
const panels = new Set<vscode.WebviewPanel>();

export class PagePanel<FromPage extends { type: string }, ToPage extends object, State>
  implements vscode.Disposable
{
  readonly #options: PanelOptions<FromPage, State>;
  readonly #extension: vscode.Uri;
  readonly #states: vscode.Memento;
  readonly #serializer: vscode.Disposable;
  #title: string;
  #panel: vscode.WebviewPanel | undefined;
  /** Pending until the page is loaded. */
  #loading: NodeJS.Timeout | undefined;

  constructor(
    { extensionUri, workspaceState }: vscode.ExtensionContext,
    options: PanelOptions<FromPage, State>,
  ) {
    this.#options = options;
    this.#extension = extensionUri;
    this.#states = workspaceState;
    this.#title = options.title;
    this.#serializer = vscode.window.registerWebviewPanelSerializer(options.view, {
      deserializeWebviewPanel: (panel) => {
        this.#restore(panel);
        return Promise.resolve();
      },
    });
  }

  get isOpen(): boolean {
    return this.#panel !== undefined;
  }

  get isVisible(): boolean {
    return this.#panel?.visible === true;
  }

  set title(title: string) {
    this.#title = title;
    if (this.#panel !== undefined) {
      this.#panel.title = title;
    }
  }

  /** Stores what is shown. The page could not do so before it has loaded. */
  remember(state: State): void {
    void this.#states.update(this.#options.view, state);
  }

  /**
   * Reveals the panel, or opens it beside the editor, over another panel if there is one; the editor keeps the
   * focus. Returns whether the panel was open.
   */
  reveal(): boolean {
    if (this.#panel !== undefined) {
      this.#panel.reveal(undefined, true);
      return true;
    }
    const editor = vscode.window.activeTextEditor?.viewColumn;
    const other = [...panels].find(({ visible, viewColumn }) => visible && viewColumn !== editor);
    const place = { viewColumn: other?.viewColumn ?? vscode.ViewColumn.Beside, preserveFocus: true };
    const options = { enableScripts: true, retainContextWhenHidden: true };
    this.#adopt(vscode.window.createWebviewPanel(this.#options.view, this.#title, place, options));
    return false;
  }

  post(message: ToPage | Answer): void {
    if (this.#loading !== undefined && fitsInPage(message)) {
      this.#load(message);
    } else {
      // VS Code queues messages to a page that is still loading.
      void this.#panel?.webview.postMessage(message);
    }
  }

  dispose(): void {
    this.#serializer.dispose();
    this.#panel?.dispose();
  }

  #restore(panel: vscode.WebviewPanel): void {
    const state = this.#states.get<State>(this.#options.view);
    if (state === undefined) {
      panel.dispose();
    } else {
      this.#adopt(panel);
      this.#options.restore(state);
    }
  }

  #adopt(panel: vscode.WebviewPanel): void {
    const { icon, firstMilliseconds } = this.#options;
    this.#panel?.dispose();
    this.#panel = panel;
    panels.add(panel);
    panel.title = this.#title;
    panel.iconPath = vscode.Uri.joinPath(this.#extension, "icons", `${icon}.svg`);
    panel.webview.options = { enableScripts: true, localResourceRoots: [] };
    panel.webview.onDidReceiveMessage((message: FromPage | Ask | Copy) => this.#receive(message));
    panel.onDidChangeViewState(() => {
      if (panel.visible) {
        this.#options.shown?.();
      }
    });
    panel.onDidDispose(() => {
      panels.delete(panel);
      if (this.#panel === panel) {
        clearTimeout(this.#loading);
        this.#loading = undefined;
        this.#panel = undefined;
        this.#options.closed?.();
      }
    });
    if (firstMilliseconds === undefined) {
      this.#load();
    } else {
      this.#loading = setTimeout(() => this.#load(), firstMilliseconds);
    }
  }

  /** Loads the page, which shows `first` immediately. */
  #load(first?: object): void {
    clearTimeout(this.#loading);
    this.#loading = undefined;
    if (this.#panel !== undefined) {
      const { page, title } = this.#options;
      this.#panel.webview.html = pageOf(this.#extension, page, title, first);
    }
  }

  async #receive(message: FromPage | Ask | Copy): Promise<void> {
    if (isCopy(message)) {
      await vscode.env.clipboard.writeText(message.text);
      vscode.window.setStatusBarMessage(`$(check) Copied ${message.what}`, 3000);
    } else if (isAsk(message)) {
      await this.#answer(message);
    } else {
      await this.#options.receive(message);
    }
  }

  /** Forwards an allowed request of the page to the server. */
  async #answer({ id, question, argument }: Ask): Promise<void> {
    const { questions = {}, answer } = this.#options;
    const command = Object.entries(questions).find(([name]) => name === question)?.[1];
    try {
      if (command === undefined) {
        throw new Error(`there is no question ${question}`);
      }
      this.post({ type: "answer", id, result: await answer?.(command, argument) });
    } catch (error) {
      this.post({ type: "answer", id, error: errorMessage(error) });
    }
  }
}

function isAsk(message: { type: string }): message is Ask {
  return message.type === "ask";
}

function isCopy(message: { type: string }): message is Copy {
  return message.type === "copy";
}
