import { expect, it } from "vitest";

import { Keys, redactSecrets } from "../src/keys";

type Store = ConstructorParameters<typeof Keys>[0];

function store(): Store {
  const secrets = new Map<string, string>();
  const state = new Map<string, unknown>();
  return {
    secrets: {
      get: (name: string) => Promise.resolve(secrets.get(name)),
      store: (name: string, value: string) => Promise.resolve(void secrets.set(name, value)),
      delete: (name: string) => Promise.resolve(void secrets.delete(name)),
    },
    globalState: {
      get: (name: string) => state.get(name),
      update: (name: string, value: unknown) => Promise.resolve(void state.set(name, value)),
    },
  } as unknown as Store;
}

/** A server that finds one key needed, and another that nobody keeps. */
const needed = (): Promise<string[]> => Promise.resolve(["OPENAI_API_KEY", "NOBODYS_KEY"]);

const KEY = 'sk-"planted"\\1234';

it("sends keys with runs and with nothing else", async () => {
  const keys = new Keys(store());
  await keys.set("OPENAI_API_KEY", KEY);
  expect(await keys.withKeys("promptls.runExperiment", { uri: "a" }, needed)).toEqual({
    uri: "a",
    secrets: { OPENAI_API_KEY: KEY },
  });
  expect(await keys.withKeys("promptls.preview", { uri: "a" }, needed)).toEqual({ uri: "a" });
});

it("sends the keys that a run needs, and no others", async () => {
  const keys = new Keys(store());
  await keys.set("OPENAI_API_KEY", KEY);
  await keys.set("GITHUB_TOKEN", "ghp-planted-0123456789");
  expect(await keys.withKeys("promptls.leaveOneOut", { uri: "a" }, needed)).toEqual({
    uri: "a",
    secrets: { OPENAI_API_KEY: KEY },
  });
});

it("sends no keys where the server cannot say which are needed", async () => {
  const keys = new Keys(store());
  await keys.set("OPENAI_API_KEY", KEY);
  const unknown = () => Promise.reject(new Error("there is no experiment `a`"));
  await expect(keys.withKeys("promptls.runExperiment", { uri: "a" }, unknown)).rejects.toThrow(
    "there is no experiment",
  );
});

it("asks for the needed keys with the arguments of the command", async () => {
  const keys = new Keys(store());
  await keys.set("OPENAI_API_KEY", KEY);
  const asked: unknown[] = [];
  await keys.withKeys("promptls.runExperiment", { uri: "a", models: ["echo"] }, (...given) => {
    asked.push(given);
    return Promise.resolve([]);
  });
  expect(asked).toEqual([["promptls.runExperiment", { uri: "a", models: ["echo"] }]]);
});

it("sends nothing of a key that is removed", async () => {
  const keys = new Keys(store());
  await keys.set("OPENAI_API_KEY", KEY);
  await keys.remove("OPENAI_API_KEY");
  expect(keys.names).toEqual([]);
  expect(await keys.withKeys("promptls.runExperiment", { uri: "a" }, needed)).toEqual({ uri: "a" });
});

it("keeps only names outside the secret store", async () => {
  const kept = store();
  await new Keys(kept).set("OPENAI_API_KEY", KEY);
  expect(kept.globalState.get("promptls.keys")).toEqual(["OPENAI_API_KEY"]);
});

it("takes keys out of a log, also those of an earlier session, in messages and errors", async () => {
  const kept = store();
  await new Keys(kept).set("OPENAI_API_KEY", KEY);
  const keys = new Keys(kept);
  const written: string[] = [];
  const channel = redactSecrets(
    {
      logLevel: 2,
      trace: (text: string) => written.push(text),
      error: (text: string) => written.push(text),
    } as unknown as Parameters<typeof redactSecrets>[0],
    keys,
  );
  const sent = await keys.withKeys("promptls.runExperiment", {}, needed);
  channel.trace(JSON.stringify(sent));
  channel.error(new Error(`refused: ${KEY}`));
  expect(channel.logLevel).toBe(2);
  expect(written).toHaveLength(2);
  expect(written.join()).toContain("[key]");
  expect(written.join()).not.toContain("planted");
});
