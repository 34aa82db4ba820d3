/** Keys of model providers: stored in the editor's secret store, sent with the runs that need them, redacted from every log. */

import type * as vscode from "vscode";

const PREFIX = "promptls.key.";
const NAMES = "promptls.keys";

/** Shorter values are hardly secrets and would match ordinary text. */
const SHORTEST = 8;

/** Commands that may lead to a call of a model, or find out whether one could be made. */
const ASKING = new Set([
  "promptls.runExperiment",
  "promptls.planExperiment",
  "promptls.leaveOneOut",
  "promptls.generateDataset",
  "promptls.ask",
]);

type Store = Pick<vscode.ExtensionContext, "secrets" | "globalState">;

/** Asks the server in which variables the models of a command look for keys. */
export type KeysNeeded = (command: string, argument: object) => Promise<readonly string[]>;

export class Keys {
  readonly #store: Store;
  readonly #values = new Set<string>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** The variables that have a saved key. The secret store itself cannot list what it holds. */
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
   * Returns the argument of a command, with the keys that it needs where it may ask a model: `needed` says
   * in which variables the models of the command look for them.
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

  /** The text without any key that has ever been sent. */
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
      // As a message between client and server has it.
      this.#values.add(JSON.stringify(value).slice(1, -1));
    }
  }
}

/** The channel, with every key taken out of what is written to it. */
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
