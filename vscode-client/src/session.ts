/** The life of the server: found, started, replaced, stopped. */

import * as vscode from "vscode";
import { ExecuteCommandRequest, type LanguageClient, State } from "vscode-languageclient/node";

import { type ClientChannels, createClient } from "./client";
import { addExperiments, EnvironmentError, type EnvironmentPlace, type EnvironmentTools, ownEnvironment } from "./environment";
import type { Keys } from "./keys";
import { runProcess } from "./process";
import { requestWithProgress } from "./progress";
import { hasModels, ModelAnswers } from "./models/answer";
import { modelsFeature } from "./models/feature";
import { CHANGED, type ChangedParams, ROW_VERDICTS, type RowVerdictsParams } from "./protocol";
import { choosePython, selectedPython } from "./python";
import { oneAtATime } from "./restart";
import { isSameServer, resolveServer, type ServerCommand } from "./server";
import type { ServerStatus } from "./status";

const SECONDS = 1000;

export class Session implements vscode.Disposable {
  readonly #context: vscode.ExtensionContext;
  readonly #channels: ClientChannels;
  readonly #status: ServerStatus;
  readonly #commands: readonly string[];
  readonly #keys: Keys;
  readonly #changed = new vscode.EventEmitter<ChangedParams>();
  readonly #started = new vscode.EventEmitter<void>();
  readonly #verdicts = new vscode.EventEmitter<RowVerdictsParams>();
  readonly #models: ModelAnswers;
  readonly #enqueue: () => Promise<void>;
  #client: LanguageClient | undefined;
  #server: ServerCommand | undefined;
  #forced = false;

  /** Renderings of a file may differ from now on. */
  readonly onChanged = this.#changed.event;
  /** Another server answers from now on. */
  readonly onStarted = this.#started.event;
  /** Rows of a run that is followed are finished. */
  readonly onVerdicts = this.#verdicts.event;

  constructor(
    context: vscode.ExtensionContext,
    channels: ClientChannels,
    status: ServerStatus,
    commands: readonly string[],
    keys: Keys,
  ) {
    this.#context = context;
    this.#channels = channels;
    this.#status = status;
    this.#commands = commands;
    this.#keys = keys;
    this.#models = new ModelAnswers(context.languageModelAccessInformation);
    this.#enqueue = oneAtATime(() => this.#replace());
  }

  get server(): ServerCommand | undefined {
    return this.#server;
  }

  get isRunning(): boolean {
    return this.#client?.state === State.Running;
  }

  /** Starts the server, or replaces it when another one should run now; `force` replaces it in any case. */
  async start(force = false): Promise<void> {
    this.#forced ||= force;
    await this.#enqueue();
  }

  /** Returns the answer to a command of the server, started first if need be. Rejects when there is none. */
  async execute<Result>(command: string, argument: object, token?: vscode.CancellationToken): Promise<Result> {
    const client = await this.#runningClient();
    const params = { command, arguments: [await this.#keys.withKeys(command, argument)] };
    return (await client.sendRequest(ExecuteCommandRequest.type, params, token)) as Result;
  }

  /** As `execute`, with a notification that shows the progress, which `told` hears too, and can cancel, as `token` does. */
  async executeWithProgress<Result>(
    command: string,
    argument: object,
    title: string,
    token?: vscode.CancellationToken,
    told?: (words: string, percentage: number) => void,
  ): Promise<Result> {
    const client = await this.#runningClient();
    const params = { command, arguments: [await this.#keys.withKeys(command, argument)] };
    return (await requestWithProgress(client, params, title, token, told)) as Result;
  }

  async #runningClient(): Promise<LanguageClient> {
    if (!this.isRunning) {
      await this.start();
    }
    if (this.#client === undefined) {
      throw new Error("The promptls server does not run; its log says why.");
    }
    return this.#client;
  }

  async stop(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    if (client !== undefined) {
      await client.dispose(5 * SECONDS).catch((error: unknown) => {
        this.#channels.log.warn(`The server did not stop in order: ${String(error)}`);
      });
    }
  }

  dispose(): void {
    this.#changed.dispose();
    this.#started.dispose();
    this.#verdicts.dispose();
    void this.stop();
  }

  async #replace(): Promise<void> {
    const forced = this.#forced;
    this.#forced = false;
    try {
      this.#status.starting("looking for the server");
      await vscode.workspace.fs.createDirectory(this.#context.globalStorageUri);
      const server = await this.#resolve();
      const version = await this.#checked(server);
      if (!forced && this.isRunning && this.#server !== undefined && isSameServer(server, this.#server)) {
        this.#status.running(server, version);
        return;
      }
      await this.stop();
      this.#server = server;
      this.#channels.log.info(`Starting ${[server.command, ...server.args].join(" ")} (from the ${server.source}).`);
      this.#status.starting("starting");
      const client = createClient(server, this.#storage(), this.#channels, this.#commands);
      client.onNotification(CHANGED, (params: ChangedParams) => {
        this.#changed.fire(params);
      });
      client.onNotification(ROW_VERDICTS, (params: RowVerdictsParams) => {
        this.#verdicts.fire(params);
      });
      if (hasModels()) {
        client.registerFeature(modelsFeature(client, this.#models, this.#channels.log));
      }
      this.#client = client;
      await client.start();
      this.#status.running(server, version);
      this.#started.fire();
      if (server.source === "own environment") {
        void this.#addExperiments();
      }
    } catch (error) {
      await this.stop();
      this.#fail(error instanceof Error ? error.message : String(error));
    }
  }

  async #resolve(): Promise<ServerCommand> {
    const settings = vscode.workspace.getConfiguration("promptls");
    const trusted = vscode.workspace.isTrusted;
    return resolveServer({
      trusted,
      configuredPath:
        (trusted
          ? settings.get<string>("server.path")
          : settings.inspect<string>("server.path")?.globalValue) ?? "",
      selectedPython: trusted ? await selectedPython() : undefined,
      hasServer: async (python) => {
        const asked = await runProcess(python, ["-c", "import promptls"], {
          cwd: this.#storage(),
          timeoutMilliseconds: 20 * SECONDS,
        });
        return asked.code === 0;
      },
      ownEnvironment: () => this.#ownEnvironment(),
    });
  }

  async #ownEnvironment(): Promise<string> {
    const place = await this.#place();
    return vscode.window.withProgress(
      { location: vscode.ProgressLocation.Notification, title: "promptls" },
      (progress) =>
        ownEnvironment(
          place,
          this.#tools((message) => {
            progress.report({ message });
          }),
        ),
    );
  }

  async #addExperiments(): Promise<void> {
    const place = await this.#place();
    const added = await vscode.window.withProgress(
      { location: vscode.ProgressLocation.Window, title: "promptls" },
      (progress) =>
        addExperiments(
          place,
          this.#tools((message) => {
            progress.report({ message });
          }),
        ),
    );
    if (!added) {
      const answer = await vscode.window.showWarningMessage(
        "promptls: what experiments need could not be installed. Checking and previews work without it.",
        "Show Log",
      );
      if (answer === "Show Log") {
        this.#channels.log.show();
      }
    }
  }

  /** In Restricted Mode, no interpreter that the workspace could have chosen is among them. */
  async #place(): Promise<EnvironmentPlace> {
    const settings = vscode.workspace.getConfiguration("promptls");
    const trusted = vscode.workspace.isTrusted;
    const configured = trusted
      ? settings.get<string>("server.python")
      : settings.inspect<string>("server.python")?.globalValue;
    const selected = trusted ? await selectedPython() : undefined;
    return {
      storage: this.#storage(),
      wheels: vscode.Uri.joinPath(this.#context.extensionUri, "wheel").fsPath,
      pythons: [configured, selected, "python3", "python"].filter((python) => python !== undefined && python !== "") as string[],
    };
  }

  #tools(report: (step: string) => void): EnvironmentTools {
    return {
      run: runProcess,
      report: (step) => {
        report(step);
        this.#status.starting(step);
      },
      log: (text) => {
        this.#channels.log.info(text.trimEnd());
      },
    };
  }

  /** Returns the server's version. Rejects, with what it printed, when it cannot even say that. */
  async #checked(server: ServerCommand): Promise<string> {
    const args = [...server.args.slice(0, -1), "--version"];
    const asked = await runProcess(server.command, args, { cwd: this.#storage(), timeoutMilliseconds: 30 * SECONDS });
    if (asked.code !== 0) {
      this.#channels.log.error(`${server.command} ${args.join(" ")}\n${asked.stderr}${asked.stdout}`);
      const reason = asked.stderr.trim().split("\n").at(-1) ?? "";
      throw new EnvironmentError(`The server from the ${server.source}, ${server.command}, does not start: ${reason}`);
    }
    return /\d+(\.\d+)+\S*/.exec(asked.stdout)?.[0] ?? "";
  }

  #fail(message: string): void {
    this.#channels.log.error(message);
    this.#status.failed(message);
    // Not awaited: the message may stand for long, and a restart must not wait for it.
    void vscode.window
      .showErrorMessage(`promptls: ${message}`, "Show Log", "Choose Python", "Try Again")
      .then(async (answer) => {
        if (answer === "Show Log") {
          this.#channels.log.show();
        } else if (answer === "Choose Python") {
          await choosePython();
        } else if (answer === "Try Again") {
          await this.start(true);
        }
      });
  }

  /** Also where the processes run: in a folder of the workspace, Python would import what lies there. */
  #storage(): string {
    return this.#context.globalStorageUri.fsPath;
  }
}
