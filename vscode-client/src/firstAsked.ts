/** Of the extensions that rename in one language, VS Code asks first the one that came last: that is to be us. */

import * as vscode from "vscode";
import {
  type LanguageClient,
  PrepareRenameRequest,
  type Range,
  type RegistrationParams,
  type RegistrationRequest,
  RenameRequest,
  type StaticFeature,
  type TextDocumentRegistrationOptions,
} from "vscode-languageclient/node";

/** Milliseconds between two registrations at least: one that is due sooner waits. */
const OFTEN = 1000;
/** Milliseconds for which a rename that has begun may still be answered by who began it. */
const KEPT = 300_000;

/**
 * Renames in programs, data and settings: those that the server asks for while it runs. They are registered anew while
 * somebody works in such a file. What is no name of a prompt's is refused, and VS Code goes on to the others.
 */
export class FirstAsked implements StaticFeature {
  readonly #client: () => LanguageClient;
  readonly #registered = new Set<vscode.Disposable>();
  #selector: vscode.DocumentSelector | undefined;
  #newest: vscode.RenameProvider | undefined;
  #waiting: NodeJS.Timeout | undefined;
  #watching: vscode.Disposable | undefined;

  constructor(client: () => LanguageClient) {
    this.#client = client;
  }

  /** Takes the renames that the server asks for from the client, as its middleware. */
  readonly take = async (params: RegistrationParams, next: RegistrationRequest.HandlerSignature): Promise<void> => {
    const ours = params.registrations.find(({ method }) => method === RenameRequest.method);
    const others = params.registrations.filter((registration) => registration !== ours);
    await next({ registrations: others }, new vscode.CancellationTokenSource().token);
    const { documentSelector } = (ours?.registerOptions ?? {}) as Partial<TextDocumentRegistrationOptions>;
    if (documentSelector) {
      this.#selector = this.#client().protocol2CodeConverter.asDocumentSelector(documentSelector);
      this.#register(this.#selector);
    }
  };

  fillClientCapabilities(): void {
    // The client says that it can rename.
  }

  initialize(): void {
    this.#watching ??= vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => {
      const selector = this.#selector;
      if (this.#waiting === undefined && selector && vscode.languages.match(selector, textEditor.document) > 0) {
        this.#register(selector);
        this.#waiting = setTimeout(() => {
          this.#waiting = undefined;
          this.#register(selector);
        }, OFTEN);
      }
    });
  }

  getState(): { kind: "static" } {
    return { kind: "static" };
  }

  clear(): void {
    this.#watching?.dispose();
    this.#watching = undefined;
    clearTimeout(this.#waiting);
    this.#waiting = undefined;
    this.#selector = undefined;
    for (const registered of this.#registered) {
      registered.dispose();
    }
    this.#registered.clear();
  }

  #register(selector: vscode.DocumentSelector): void {
    for (const former of this.#registered) {
      setTimeout(() => {
        this.#registered.delete(former);
        former.dispose();
      }, KEPT);
    }
    this.#newest = this.#provider();
    this.#registered.add(vscode.languages.registerRenameProvider(selector, this.#newest));
  }

  /** Returns a provider that begins no rename once there is a newer one. */
  #provider(): vscode.RenameProvider {
    const provider: vscode.RenameProvider = {
      prepareRename: async (document, position, token) => {
        if (provider !== this.#newest) {
          return undefined;
        }
        const found = await this.#ask(PrepareRenameRequest.method, document, position, {}, token);
        if (found === null) {
          throw new Error("This is no name that a prompt knows.");
        }
        const { range, placeholder } = found as { range: Range; placeholder: string };
        return { range: this.#client().protocol2CodeConverter.asRange(range), placeholder };
      },
      provideRenameEdits: async (document, position, newName, token) => {
        const edit = await this.#ask(RenameRequest.method, document, position, { newName }, token);
        return this.#client().protocol2CodeConverter.asWorkspaceEdit(edit as never, token);
      },
    };
    return provider;
  }

  /** Returns the server's answer about a place. Rejects with the reason where it refuses. */
  async #ask(
    method: string,
    document: vscode.TextDocument,
    position: vscode.Position,
    further: object,
    token: vscode.CancellationToken,
  ): Promise<unknown> {
    const client = this.#client();
    const { asTextDocumentIdentifier, asPosition } = client.code2ProtocolConverter;
    const params = { textDocument: asTextDocumentIdentifier(document), position: asPosition(position), ...further };
    try {
      return await client.sendRequest(method, params, token);
    } catch (error) {
      throw new Error(error instanceof Error ? error.message : String(error), { cause: error });
    }
  }
}
