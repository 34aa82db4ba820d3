/** Of many requests, only the latest counts. */

import * as vscode from "vscode";

/**
 * Returns a `request` that runs `ask` once requests have paused for `settled` milliseconds; a request that comes
 * while one runs cancels it. Requests that come without a pause are answered all the same, after five pauses.
 */
export function debounce(
  ask: (token: vscode.CancellationToken) => Promise<void>,
  settled: number,
): { request(): void; dispose(): void } {
  let timer: NodeJS.Timeout | undefined;
  let waitingSince: number | undefined;
  let running: vscode.CancellationTokenSource | undefined;

  function begin(): void {
    timer = undefined;
    waitingSince = undefined;
    running?.cancel();
    const source = new vscode.CancellationTokenSource();
    running = source;
    void ask(source.token).finally(() => {
      source.dispose();
      if (running === source) {
        running = undefined;
      }
    });
  }

  return {
    request() {
      const now = Date.now();
      waitingSince ??= now;
      clearTimeout(timer);
      timer = setTimeout(begin, Math.max(0, Math.min(settled, waitingSince + 5 * settled - now)));
    },
    dispose() {
      clearTimeout(timer);
      running?.cancel();
    },
  };
}

/**
 * Returns a `request` that runs `ask` at once, and once more after it has answered where requests came meanwhile:
 * an answer is never older than one that takes as long as it takes, and none is asked for in vain.
 */
export function coalesce(ask: (token: vscode.CancellationToken) => Promise<void>): {
  request(): void;
  dispose(): void;
} {
  const source = new vscode.CancellationTokenSource();
  let isRunning = false;
  let isPending = false;

  async function run(): Promise<void> {
    isRunning = true;
    try {
      while (isPending) {
        // The change that led here may not have been sent yet.
        await new Promise((resolve) => setTimeout(resolve, 0));
        isPending = false;
        await ask(source.token);
      }
    } finally {
      isRunning = false;
    }
  }

  return {
    request() {
      isPending = true;
      if (!isRunning) {
        void run();
      }
    },
    dispose() {
      isPending = false;
      source.cancel();
    },
  };
}
