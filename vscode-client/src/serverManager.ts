/** Finds, installs, starts, replaces and stops the server. */

import { errorMessage } from "@promptls/web/shared/errorMessage";
import * as vscode from "vscode";
import { type LanguageClient, State } from "vscode-languageclient/node";

import { EnvironmentError, type EnvironmentPlace } from "./environment";
import { Installer, lacksModel } from "./installer";
import { type ClientChannels, createClient } from "./languageClient";
import { hasModels, ModelAnswers } from "./models/answer";
import { modelsFeature } from "./models/feature";
import { runProcess } from "./process";
import { choosePython, selectedPython } from "./python";
import { oneAtATime } from "./restart";
import { isSameServer, moduleBeside, resolveServer, type ServerCommand } from "./server";
import type { ServerStatus } from "./status";

const SECONDS = 1000;

/** Manages the server process and its language client. */
export class ServerManager implements vscode.Disposable {
  readonly #context: vscode.ExtensionContext;
  readonly #channels: ClientChannels;
  readonly #status: ServerStatus;
  readonly #commands: readonly string[];
  readonly #started = new vscode.EventEmitter<void>();
  readonly #created = new vscode.EventEmitter<LanguageClient>();
  readonly #models: ModelAnswers;
  readonly #installer: Installer;
  readonly #enqueue: () => Promise<void>;
  #client: LanguageClient | undefined;
  #server: ServerCommand | undefined;
  #isMissing = false;
  #isNeeded = false;
  #forced = false;
  /** A command waits for the server, and offers to install it if necessary. */
  #isAwaited = false;
  #installing: Promise<void> | undefined;

  /** Emitted when a new language client is about to start. */
  readonly onCreated = this.#created.event;
  /** Emitted when a server has started. */
  readonly onStarted = this.#started.event;

  constructor(
    context: vscode.ExtensionContext,
    channels: ClientChannels,
    status: ServerStatus,
    commands: readonly string[],
  ) {
    this.#context = context;
    this.#channels = channels;
    this.#status = status;
    this.#commands = commands;
    this.#models = new ModelAnswers(context.languageModelAccessInformation);
    const window = {
      ask: (message: string, ...buttons: string[]) =>
        vscode.window.showInformationMessage(message, ...buttons),
      askInDialog: (message: string, detail: string, ...buttons: string[]) =>
        vscode.window.showInformationMessage(message, { modal: true, detail }, ...buttons),
      withProgress: withCancellableProgress,
      log: (text: string) => channels.log.info(text.trimEnd()),
    };
    this.#installer = new Installer(() => this.#place(), window, runProcess);
    this.#enqueue = oneAtATime(() => this.#replace());
  }

  get server(): ServerCommand | undefined {
    return this.#server;
  }

  get isRunning(): boolean {
    return this.#client?.state === State.Running;
  }

  /** True once the server should run, even if it could not be started. */
  get isNeeded(): boolean {
    return this.#isNeeded;
  }

  /** True if selecting another Python may lead to another server, or to the first one. */
  get dependsOnPython(): boolean {
    return this.#server?.dependsOnPython ?? this.#isMissing;
  }

  /** Starts the server, or replaces it if another one should run now; `force` always replaces it. */
  async start(force = false): Promise<void> {
    this.#isNeeded = true;
    this.#forced ||= force;
    await this.#enqueue();
  }

  /** Installs the server, with the user's consent, and starts it. */
  install(): Promise<void> {
    this.#installing ??= this.#install().finally(() => {
      this.#installing = undefined;
    });
    return this.#installing;
  }

  /** Starts the server for a command, and asks before installing one; returns whether a server runs. */
  async startForCommand(): Promise<boolean> {
    await this.#installing;
    if (this.#client === undefined) {
      this.#isAwaited = true;
      try {
        await this.start();
      } finally {
        this.#isAwaited = false;
      }
      if (this.#isMissing) {
        await this.#follow(await this.#installer.askForNeededServer());
      }
    }
    return this.#client !== undefined;
  }

  async #install(): Promise<void> {
    this.#status.starting("installing");
    try {
      if ((await this.#installer.installServer()) || !this.#isMissing) {
        await this.start();
      } else {
        this.#status.notInstalled();
      }
    } catch (error) {
      this.#fail(errorMessage(error), () => this.install());
    }
  }

  /**
   * Offers the embedded model for a run that failed without it; returns whether it is installed afterwards,
   * or undefined if it was not offered.
   */
  async offerModel(failure: string): Promise<boolean | undefined> {
    const canHaveModel = this.#server?.source === "own environment" && lacksModel(failure);
    return canHaveModel ? await this.#installer.offerModel() : undefined;
  }

  /**
   * Runs a module that installs something into the server's environment, in a terminal where it can be
   * interrupted.
   */
  installInTerminal(module: string, args: readonly string[]): void {
    if (this.#server === undefined) {
      return;
    }
    const [shellPath, ...shellArgs] = moduleBeside(this.#server, module);
    const terminal = vscode.window.createTerminal({
      name: "promptls: install packages",
      shellPath,
      shellArgs: [...shellArgs, ...args],
      cwd: this.#storage(),
    });
    terminal.show();
  }

  /** Returns the client of the running server, which is started if necessary. Rejects if there is none. */
  async runningClient(): Promise<LanguageClient> {
    if (!this.isRunning) {
      await this.start();
    }
    if (this.#client === undefined) {
      throw new Error(
        this.#isMissing
          ? "The promptls server is not installed; the command “promptls: Install Server” installs it."
          : "The promptls server is not running; see its log.",
      );
    }
    return this.#client;
  }

  async stop(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    if (client !== undefined) {
      await startedAgain(client);
      await client.dispose(5 * SECONDS).catch((error: unknown) => {
        this.#channels.log.warn(`The server did not stop properly: ${String(error)}`);
      });
    }
  }

  dispose(): void {
    this.#created.dispose();
    this.#started.dispose();
    void this.stop();
  }

  async #replace(): Promise<void> {
    const forced = this.#forced;
    this.#forced = false;
    try {
      this.#status.starting("looking for the server");
      await vscode.workspace.fs.createDirectory(this.#context.globalStorageUri);
      const server = await this.#resolve();
      this.#isMissing = server === undefined;
      if (server === undefined) {
        await this.stop();
        this.#server = undefined;
        this.#status.notInstalled();
        if (!this.#isAwaited && this.#installing === undefined) {
          // Not awaited: the question may stay open, and a restart must not wait for it.
          void this.#installer.askForServer().then((answer) => this.#follow(answer));
        }
        return;
      }
      const version = await this.#checked(server);
      await startedAgain(this.#client);
      if (!forced && this.isRunning && this.#server !== undefined && isSameServer(server, this.#server)) {
        this.#status.running(server, version);
        return;
      }
      await this.stop();
      this.#server = server;
      this.#channels.log.info(
        `Starting ${[server.command, ...server.args].join(" ")} (from the ${server.source}).`,
      );
      this.#status.starting("starting");
      const client = createClient(
        server,
        this.#storage(),
        this.#channels,
        this.#commands,
        settingNames(this.#context),
        () => {
          this.#fail("The server crashed five times in three minutes and is not restarted.", () =>
            this.start(true),
          );
        },
      );
      if (hasModels()) {
        client.registerFeature(modelsFeature(client, this.#models, this.#channels.log));
      }
      this.#created.fire(client);
      this.#client = client;
      await client.start();
      this.#status.running(server, version);
      this.#started.fire();
    } catch (error) {
      await this.stop();
      this.#fail(errorMessage(error), () => this.start(true));
    }
  }

  async #follow(answer: "install" | "choose Python" | undefined): Promise<void> {
    if (answer === "install") {
      await this.install();
    } else if (answer === "choose Python") {
      await choosePython();
    }
  }

  async #resolve(): Promise<ServerCommand | undefined> {
    const trusted = vscode.workspace.isTrusted;
    return resolveServer({
      trusted,
      configuredPath: trustedSetting("server.path") ?? "",
      selectedPython: trusted ? await selectedPython() : undefined,
      hasServer: async (python) => {
        const result = await runProcess(python, ["-c", "import promptls"], {
          cwd: this.#storage(),
          timeoutMilliseconds: 20 * SECONDS,
        });
        return result.code === 0;
      },
      ownEnvironment: () => this.#installer.python(),
    });
  }

  /** In Restricted Mode, this list contains no interpreter that the workspace could have chosen. */
  async #place(): Promise<EnvironmentPlace> {
    const selected = vscode.workspace.isTrusted ? await selectedPython() : undefined;
    return {
      storage: this.#storage(),
      wheels: vscode.Uri.joinPath(this.#context.extensionUri, "wheel").fsPath,
      pythons: [trustedSetting("server.python"), selected, "python3", "python"].filter(
        (python) => python !== undefined && python !== "",
      ) as string[],
    };
  }

  /** Returns the server's version. If the server cannot print it, rejects with its output. */
  async #checked(server: ServerCommand): Promise<string> {
    const args = [...server.args.slice(0, -1), "--version"];
    const result = await runProcess(server.command, args, {
      cwd: this.#storage(),
      timeoutMilliseconds: 30 * SECONDS,
    });
    if (result.code !== 0) {
      this.#channels.log.error(`${server.command} ${args.join(" ")}\n${result.stderr}${result.stdout}`);
      const reason = result.stderr.trim().split("\n").at(-1) ?? "";
      throw new EnvironmentError(
        `The server from the ${server.source}, ${server.command}, does not start: ${reason}`,
      );
    }
    return /\d+(\.\d+)+\S*/.exec(result.stdout)?.[0] ?? "";
  }

  #fail(message: string, retry: () => Promise<void>): void {
    this.#channels.log.error(message);
    this.#status.failed(message);
    // Not awaited: the message may stay open, and a restart must not wait for it.
    void vscode.window
      .showErrorMessage(`promptls: ${message}`, "Show Log", "Choose Python", "Try Again")
      .then(async (answer) => {
        if (answer === "Show Log") {
          this.#channels.log.show();
        } else if (answer === "Choose Python") {
          await choosePython();
        } else if (answer === "Try Again") {
          await retry();
        }
      });
  }

  /**
   * Also the working directory of the processes: in a workspace folder, Python would import modules from it.
   */
  #storage(): string {
    return this.#context.globalStorageUri.fsPath;
  }
}

/** Waits for a client that is restarting its crashed server: until then, it can be neither used nor stopped. */
async function startedAgain(client: LanguageClient | undefined): Promise<void> {
  if (client?.state === State.Starting) {
    await client.start().catch(() => undefined);
  }
}

/** Returns a setting; in Restricted Mode only the user's own value, because a workspace may contain another. */
function trustedSetting(name: string): string | undefined {
  const settings = vscode.workspace.getConfiguration("promptls");
  return vscode.workspace.isTrusted
    ? settings.get<string>(name)
    : settings.inspect<string>(name)?.globalValue;
}

/** The names of the extension's settings, without `promptls.`. */
function settingNames(context: vscode.ExtensionContext): string[] {
  const { contributes } = context.extension.packageJSON as {
    contributes: { configuration: { properties: Record<string, unknown> }[] };
  };
  return contributes.configuration.flatMap(({ properties }) =>
    Object.keys(properties).map((name) => name.slice("promptls.".length)),
  );
}

async function withCancellableProgress(
  title: string,
  work: (report: (step: string) => void, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, title, cancellable: true },
    async (progress, token) => {
      const controller = new AbortController();
      const cancelled = token.onCancellationRequested(() => controller.abort());
      try {
        await work((message) => progress.report({ message }), controller.signal);
      } finally {
        cancelled.dispose();
      }
    },
  );
}
