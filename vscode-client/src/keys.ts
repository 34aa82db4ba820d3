/** Keys of model providers: stored in the editor's secret store, sent with the runs that need them, redacted from every log. */

import type * as vscode from "vscode";

const PREFIX = "promptls.key.";
const NAMES = "promptls.keys";

/** Shorter values are hardly secrets and would match ordinary text. */
const SHORTEST = 8;

/** Commands that may call a model, or that check whether a model could be called. */
const ASKING = new Set([
  "promptls.runExperiment",
  "promptls.planExperiment",
  "promptls.leaveOneOut",
  "promptls.generateDataset",
  "promptls.ask",
]);

type Store = Pick<vscode.ExtensionContext, "secrets" | "globalState">;

/** Asks the server which variables contain the keys of a command's models. */
export type KeysNeeded = (command: string, argument: object) => Promise<readonly string[]>;

export class Keys {
  readonly #store: Store;
  readonly #values = new Set<string>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** The variables with a saved key. The secret store cannot list its content. */
  get names(): readonly string[] {
    return this.#store.globalState.get<string[]>(NAMES) ?? [];
  }

  async set(name: string, value: string): Promise<void> {
    this.#know(value);
    await this.#store.secrets.store(PREFIX + name, value);
    await this.#store.globalState.update(NAMES, [...new Set([...this.names, name])].sort());
  }

  async remove(name: string): Promise<void> {
    await this.#store.secrets.delete(PREFIX + name);
    await this.#store.globalState.update(
      NAMES,
      this.names.filter((other) => other !== name),
    );
  }

  /**
   * Returns the command's argument, with the required keys if the command may call a model. `needed` returns
   * the variables that contain the keys of its models.
   */
  async withKeys(command: string, argument: object, needed: KeysNeeded): Promise<object> {
    if (!ASKING.has(command) || this.names.length === 0) {
      return argument;
    }
    const variables = new Set(await needed(command, argument));
    const secrets: Record<string, string> = {};
    for (const name of this.names.filter((each) => variables.has(each))) {
      const value = await this.#store.secrets.get(PREFIX + name);
      if (value !== undefined) {
        this.#know(value);
        secrets[name] = value;
      }
    }
    return Object.keys(secrets).length === 0 ? argument : { ...argument, secrets };
  }

  /** Returns the text without any key that has ever been sent. */
  mask(text: string): string {
    let masked = text;
    for (const value of this.#values) {
      masked = masked.replaceAll(value, "[key]");
    }
    return masked;
  }

  #know(value: string): void {
    if (value.length >= SHORTEST) {
      this.#values.add(value);
      // The key as it appears in a JSON message.
      this.#values.add(JSON.stringify(value).slice(1, -1));
    }
  }
}

/** Returns a channel that redacts all keys from what is written to it. */
export function redactSecrets(channel: vscode.LogOutputChannel, keys: Keys): vscode.LogOutputChannel {
  const clean = (given: unknown): unknown => {
    if (given instanceof Error) {
      return keys.mask(given.stack ?? given.message);
    }
    return typeof given === "string" ? keys.mask(given) : given;
  };
  return new Proxy({} as vscode.LogOutputChannel, {
    get: (_, name) => {
      const value: unknown = Reflect.get(channel, name);
      return typeof value === "function"
        ? (...given: unknown[]): unknown => Reflect.apply(value, channel, given.map(clean))
        : value;
    },
  });
}
