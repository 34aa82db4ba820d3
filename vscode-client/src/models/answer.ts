/** Models of the editor for runs: answers `promptls/askModel` with the response of `vscode.lm`. */

import { errorMessage } from "@promptls/web/shared/errorMessage";
import type { ModelAnswer, ModelErrorCode, ModelQuestion } from "@promptls/web/wire/commands";
import * as vscode from "vscode";

const CODES: Record<string, ModelErrorCode> = {
  NotFound: "notFound",
  NoPermissions: "noPermissions",
  Blocked: "blocked",
};

const JUSTIFICATION = "An experiment that you have started asks this model about rows of your dataset.";

/** Returns false in editors based on VS Code that have no language model API. */
export function hasModels(): boolean {
  return typeof (vscode.lm as typeof vscode.lm | undefined)?.selectChatModels === "function";
}

/** Returns the models that the editor offers, as `<vendor>/<family>`. */
export async function offeredModels(): Promise<string[]> {
  const models = await vscode.lm.selectChatModels();
  return [...new Set(models.map(({ vendor, family }) => `${vendor}/${family}`))];
}

/** Answers questions of runs. VS Code asks for the user's consent before a model is first used. */
export class ModelAnswers {
  readonly #access: vscode.LanguageModelAccessInformation | undefined;
  /** Models whose use the user has refused, with the run. */
  readonly #refused = new Map<string, string>();
  /** Ask one question at a time until the user has answered; otherwise every row would show the question. */
  readonly #asking = new Map<string, Promise<unknown>>();

  constructor(access: vscode.LanguageModelAccessInformation | undefined) {
    this.#access = access;
  }

  /** Resolves to the complete answer or to an error message; never rejects. */
  async answer(question: ModelQuestion, token: vscode.CancellationToken): Promise<ModelAnswer> {
    try {
      const model = await chosen(question.model);
      if (model === undefined) {
        return { error: { code: "notFound", message: "" } };
      }
      if (this.#access?.canSendRequest(model) === true) {
        return await complete(model, question, token);
      }
      return await this.#afterOthers(question, () => complete(model, question, token));
    } catch (error) {
      return { error: modelError(error) };
    }
  }

  async #afterOthers(question: ModelQuestion, ask: () => Promise<ModelAnswer>): Promise<ModelAnswer> {
    const key = JSON.stringify([question.run, question.model]);
    while (this.#asking.has(key)) {
      await this.#asking.get(key);
    }
    const refusal = this.#refused.get(key);
    if (refusal !== undefined) {
      return { error: { code: "noPermissions", message: refusal } };
    }
    const request = ask();
    const outcome = request.catch((error: unknown) => {
      const { code, message } = modelError(error);
      if (code === "noPermissions") {
        this.#refused.set(key, message);
      }
    });
    this.#asking.set(key, outcome);
    try {
      return await request;
    } finally {
      await outcome;
      this.#asking.delete(key);
    }
  }
}

/** Returns the model of a family; a name may also end in the model's id. */
async function chosen(name: string): Promise<vscode.LanguageModelChat | undefined> {
  const slash = name.indexOf("/");
  const [vendor, rest] = [name.slice(0, slash), name.slice(slash + 1)];
  const [byFamily] = await vscode.lm.selectChatModels({ vendor, family: rest });
  return byFamily ?? (await vscode.lm.selectChatModels({ vendor, id: rest }))[0];
}

async function complete(
  model: vscode.LanguageModelChat,
  question: ModelQuestion,
  token: vscode.CancellationToken,
): Promise<ModelAnswer> {
  const messages = question.messages.map(messageOf);
  const options = { justification: JUSTIFICATION, modelOptions: question.parameters };
  const response = await model.sendRequest(messages, options, token);
  let text = "";
  for await (const piece of response.text) {
    text += piece;
  }
  const inputTokens = await tokensOf(model, messages, token);
  const outputTokens = await tokensOf(model, [text], token);
  return { text, model: model.id, inputTokens, outputTokens };
}

/** These models have no system messages, so their content is sent as the user's. */
function messageOf({ role, content }: ModelQuestion["messages"][number]): vscode.LanguageModelChatMessage {
  const text = textOf(content);
  return role === "assistant"
    ? vscode.LanguageModelChatMessage.Assistant(text)
    : vscode.LanguageModelChatMessage.User(text);
}

function textOf(content: unknown): string {
  if (typeof content === "string") {
    return content;
  }
  const parts: unknown[] = Array.isArray(content) ? content : [content];
  return parts
    .map((part) => {
      if (typeof part === "object" && part !== null && "text" in part && typeof part.text === "string") {
        return part.text;
      }
      if (typeof part === "string") {
        return part;
      }
      throw new Error(
        "the prompt has content that is not text, which promptls does not send to models of VS Code",
      );
    })
    .join("\n");
}

/** Returns the model's own token count, or null if it has none. */
async function tokensOf(
  model: vscode.LanguageModelChat,
  texts: readonly (string | vscode.LanguageModelChatMessage)[],
  token: vscode.CancellationToken,
): Promise<number | null> {
  try {
    const counts = await Promise.all(texts.map((text) => model.countTokens(text, token)));
    return counts.reduce((sum, count) => sum + count, 0);
  } catch {
    return null;
  }
}

function modelError(error: unknown): { code: ModelErrorCode; message: string } {
  if (error instanceof vscode.LanguageModelError) {
    const cause = error.cause instanceof Error ? error.cause.message : "";
    return {
      code: CODES[error.code] ?? "failed",
      message: [error.message, cause].filter((part) => part !== "").join(": "),
    };
  }
  return { code: "failed", message: errorMessage(error) };
}
