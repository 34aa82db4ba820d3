/** Commands and notifications of the server. */

import { errorMessage } from "@promptls/web/shared/errorMessage";
import type { ChangedParams, KeyVariablesResult, RowVerdictsParams } from "@promptls/web/wire/commands";
import type { AnswerTextParams } from "@promptls/web/wire/preview";
import * as vscode from "vscode";
import { ExecuteCommandRequest, type LanguageClient } from "vscode-languageclient/node";

import type { Keys } from "./keys";
import { requestWithProgress } from "./progress";
import { ANSWER_TEXT, CHANGED, ROW_VERDICTS } from "./protocol";
import type { ServerManager } from "./serverManager";

/** A run failed because the embedded model is missing, and the user declined to install it. */
export class ModelDeclinedError extends Error {}

/** Sends commands to the running server, with the keys that they need. */
export class Client implements vscode.Disposable {
  readonly #manager: ServerManager;
  readonly #keys: Keys;
  readonly #changed = new vscode.EventEmitter<ChangedParams>();
  readonly #verdicts = new vscode.EventEmitter<RowVerdictsParams>();
  readonly #answerText = new vscode.EventEmitter<AnswerTextParams>();
  readonly #created: vscode.Disposable;

  /** The rendering of a file may have changed. */
  readonly onChanged = this.#changed.event;
  /** More text of an answer arrived. */
  readonly onAnswerText = this.#answerText.event;
  /** Rows of a followed run finished. */
  readonly onVerdicts = this.#verdicts.event;
  /** A server has started. */
  readonly onStarted: vscode.Event<void>;

  constructor(manager: ServerManager, keys: Keys) {
    this.#manager = manager;
    this.#keys = keys;
    this.onStarted = manager.onStarted;
    this.#created = manager.onCreated((client) => {
      client.onNotification(CHANGED, (params: ChangedParams) => this.#changed.fire(params));
      client.onNotification(ANSWER_TEXT, (params: AnswerTextParams) => this.#answerText.fire(params));
      client.onNotification(ROW_VERDICTS, (params: RowVerdictsParams) => this.#verdicts.fire(params));
    });
  }

  get isRunning(): boolean {
    return this.#manager.isRunning;
  }

  /** Starts the server for a command of the user; see `ServerManager.startForCommand`. */
  startForCommand(): Promise<boolean> {
    return this.#manager.startForCommand();
  }

  /** Returns the result of a command. Starts the server if necessary; rejects if there is none. */
  async execute<Result>(
    command: string,
    argument: object,
    token?: vscode.CancellationToken,
  ): Promise<Result> {
    const client = await this.#manager.runningClient();
    const params = { command, arguments: [await this.#withKeys(client, command, argument)] };
    return (await client.sendRequest(ExecuteCommandRequest.type, params, token)) as Result;
  }

  /**
   * Like `execute`, with a progress notification that can cancel the command, as `token` can. `onProgress`
   * receives the progress too. If a run lacks the embedded model, offers to install it, and then starts the
   * run again.
   */
  async executeWithProgress<Result>(
    command: string,
    argument: object,
    title: string,
    token?: vscode.CancellationToken,
    onProgress?: (message: string, percentage: number) => void,
  ): Promise<Result> {
    const client = await this.#manager.runningClient();
    const params = { command, arguments: [await this.#withKeys(client, command, argument)] };
    return this.#withModel(
      async () => (await requestWithProgress(client, params, title, token, onProgress)) as Result,
    );
  }

  /** Like `execute`; offers a missing model, as `executeWithProgress` does. */
  executeWithModel<Result>(
    command: string,
    argument: object,
    token: vscode.CancellationToken,
  ): Promise<Result> {
    return this.#withModel(() => this.execute<Result>(command, argument, token));
  }

  dispose(): void {
    this.#created.dispose();
    this.#changed.dispose();
    this.#verdicts.dispose();
    this.#answerText.dispose();
  }

  async #withModel<Result>(request: () => Promise<Result>): Promise<Result> {
    try {
      return await request();
    } catch (error) {
      const isInstalled = await this.#manager.offerModel(errorMessage(error));
      if (isInstalled !== true) {
        throw isInstalled === undefined ? error : new ModelDeclinedError(errorMessage(error));
      }
      return await request();
    }
  }

  #withKeys(client: LanguageClient, command: string, argument: object): Promise<object> {
    return this.#keys.withKeys(command, argument, async (name, given) => {
      const params = { command: "promptls.keyVariables", arguments: [{ command: name, arguments: given }] };
      const result = (await client.sendRequest(ExecuteCommandRequest.type, params)) as KeyVariablesResult;
      return result.variables;
    });
  }
}
