/**
 * A feature of the language client that gives runs access to the editor's models, and completion their names.
 */

import type { ModelAnswer, ModelQuestion } from "@promptls/web/wire/commands";
import * as vscode from "vscode";
import type { LanguageClient, StaticFeature } from "vscode-languageclient/node";

import { advertiseCapability } from "../languageClient";
import { type ModelAnswers, offeredModels } from "./answer";

/** Answers the server's requests to models, and sends it the names of the models when they change. */
export function modelsFeature(
  client: LanguageClient,
  answers: ModelAnswers,
  log: vscode.LogOutputChannel,
): StaticFeature {
  const subscriptions: vscode.Disposable[] = [];

  async function sendNames(): Promise<void> {
    try {
      await client.sendNotification("promptls/editorModels", { models: await offeredModels() });
    } catch (error) {
      log.warn(`The models of the editor cannot be listed: ${String(error)}`);
    }
  }

  return {
    fillClientCapabilities(capabilities) {
      advertiseCapability(capabilities, "models");
    },
    initialize() {
      subscriptions.push(
        client.onRequest<ModelAnswer, never>(
          "promptls/askModel",
          (question: ModelQuestion, token: vscode.CancellationToken) => answers.answer(question, token),
        ),
        vscode.lm.onDidChangeChatModels(() => void sendNames()),
      );
      void sendNames();
    },
    getState: () => ({ kind: "static" }),
    clear() {
      vscode.Disposable.from(...subscriptions.splice(0)).dispose();
    },
  };
}
