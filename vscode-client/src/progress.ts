/** Progress notifications for long-running commands of the server. */

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
 * Returns the result of a command, with a progress notification that can cancel it. Cancelling `token`
 * cancels it too, and `onProgress` receives messages and percentages. The request has its own progress token:
 * for tokens of the server, the language client shows a progress that cannot be cancelled.
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
    // Notifications render `[text](address)` as a link, and a title may contain names of the workspace.
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
