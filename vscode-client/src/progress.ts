/** Commands of the server that take their time: with a notification that shows how far they are. */

import { randomUUID } from "node:crypto";

import * as vscode from "vscode";
import {
  type ExecuteCommandParams,
  ExecuteCommandRequest,
  type LanguageClient,
  WorkDoneProgress,
  WorkDoneProgressCancelNotification,
} from "vscode-languageclient/node";

/**
 * Returns the answer to a command, during which a notification shows the progress and can cancel; cancelling
 * `token` cancels it too, and `onProgress` receives messages and percentages. The request has a progress token of our own, because the language client shows
 * that of the server where nothing can be cancelled.
 */
export async function requestWithProgress(
  client: LanguageClient,
  command: ExecuteCommandParams,
  title: string,
  token?: vscode.CancellationToken,
  onProgress?: (message: string, percentage: number) => void,
): Promise<unknown> {
  const workDoneToken = `${command.command}-${randomUUID()}`;
  return vscode.window.withProgress(
    // A notification makes links of `[text](address)`, and a title holds names of the workspace.
    {
      location: vscode.ProgressLocation.Notification,
      title: title.replaceAll("](", "] ("),
      cancellable: true,
    },
    async (progress, cancelled) => {
      let reported = 0;
      const cancel = () =>
        client.sendNotification(WorkDoneProgressCancelNotification.type, { token: workDoneToken });
      const subscriptions = [
        client.onProgress(WorkDoneProgress.type, workDoneToken, (value) => {
          if (value.kind === "end") {
            return;
          }
          const { message } = value;
          const percentage = value.percentage ?? reported;
          progress.report({
            increment: percentage - reported,
            ...(message === undefined ? {} : { message }),
          });
          reported = percentage;
          if (message !== undefined) {
            onProgress?.(message, percentage);
          }
        }),
        cancelled.onCancellationRequested(cancel),
        ...(token === undefined ? [] : [token.onCancellationRequested(cancel)]),
      ];
      try {
        return (await client.sendRequest(ExecuteCommandRequest.type, {
          ...command,
          workDoneToken,
        })) as unknown;
      } finally {
        vscode.Disposable.from(...subscriptions).dispose();
      }
    },
  );
}
