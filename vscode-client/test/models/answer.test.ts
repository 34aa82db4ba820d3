import { beforeEach, expect, it, vi } from "vitest";

import { ModelAnswers, offeredModels } from "../../src/models/answer";

// The border to VS Code: what a model answers, and the errors that it is refused with.
const editor = vi.hoisted(() => {
  class LanguageModelError extends Error {
    constructor(
      message: string,
      readonly code: string,
    ) {
      super(message);
    }
  }
  return { LanguageModelError, models: [] as unknown[], asked: [] as { role: string; text: string }[][] };
});

vi.mock("vscode", () => ({
  LanguageModelError: editor.LanguageModelError,
  LanguageModelChatMessage: {
    User: (text: string) => ({ role: "user", text }),
    Assistant: (text: string) => ({ role: "assistant", text }),
  },
  lm: { selectChatModels: () => Promise.resolve(editor.models) },
}));

const TOKEN = {} as never;
const QUESTION = {
  run: "one",
  model: "house/small",
  messages: [
    { role: "system", content: "Say it." },
    { role: "assistant", content: [{ type: "text", text: "I do." }] },
    { role: "user", content: "yes" },
  ],
  parameters: { temperature: 0 },
};

function model(answer: () => AsyncIterable<string>, countTokens = () => Promise.resolve(2)) {
  return {
    vendor: "house",
    family: "small",
    id: "small-1",
    countTokens,
    sendRequest: (messages: { role: string; text: string }[]) => {
      editor.asked.push(messages);
      return Promise.resolve({ text: answer() });
    },
  };
}

async function* words(): AsyncIterable<string> {
  yield "yes";
  await Promise.resolve();
  yield " indeed";
}

function refused(): AsyncIterable<string> {
  throw new editor.LanguageModelError("not allowed", "NoPermissions");
}

beforeEach(() => {
  editor.asked = [];
});

it("gives the whole of what is streamed, with the model's own counts", async () => {
  editor.models = [model(words)];
  expect(await offeredModels()).toEqual(["house/small"]);
  expect(await new ModelAnswers(undefined).answer(QUESTION, TOKEN)).toEqual({
    text: "yes indeed",
    model: "small-1",
    inputTokens: 6,
    outputTokens: 2,
  });
  expect(editor.asked[0]).toEqual([
    { role: "user", text: "Say it." },
    { role: "assistant", text: "I do." },
    { role: "user", text: "yes" },
  ]);
});

it("answers without counts where the model has none", async () => {
  editor.models = [model(words, () => Promise.reject(new Error("no counter")))];
  expect(await new ModelAnswers(undefined).answer(QUESTION, TOKEN)).toMatchObject({
    inputTokens: null,
    outputTokens: null,
  });
});

it("says that a model is not there", async () => {
  editor.models = [];
  expect(await new ModelAnswers(undefined).answer(QUESTION, TOKEN)).toEqual({
    error: { code: "notFound", message: "" },
  });
});

it("asks for permission once a run, however many rows wait for it", async () => {
  editor.models = [model(refused)];
  const answers = new ModelAnswers(undefined);
  const error = { error: { code: "noPermissions", message: "not allowed" } };
  expect(await Promise.all([1, 2, 3].map(() => answers.answer(QUESTION, TOKEN)))).toEqual([
    error,
    error,
    error,
  ]);
  expect(editor.asked).toHaveLength(1);
  await answers.answer({ ...QUESTION, run: "two" }, TOKEN);
  expect(editor.asked).toHaveLength(2);
});

it("sends no content that is not text", async () => {
  editor.models = [model(words)];
  const image = { ...QUESTION, messages: [{ role: "user", content: [{ type: "image_url" }] }] };
  expect(await new ModelAnswers(undefined).answer(image, TOKEN)).toMatchObject({ error: { code: "failed" } });
});
