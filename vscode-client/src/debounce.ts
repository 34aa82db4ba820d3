/** Coalesces requests: only the latest one counts. */

import * as vscode from "vscode";

/**
 * Returns a `request` that runs `ask` when requests have paused for `settled` milliseconds; a new request
 * cancels a running one. If requests keep coming, `ask` runs after five times that delay.
 */
export function debounce(
  ask: (token: vscode.CancellationToken) => Promise<void> | void,
  settled: number,
): { request(): void; dispose(): void } {
  let timer: NodeJS.Timeout | undefined;
  let waitingSince: number | undefined;
  let running: vscode.CancellationTokenSource | undefined;

  async function begin(): Promise<void> {
    timer = undefined;
    waitingSince = undefined;
    running?.cancel();
    const source = new vscode.CancellationTokenSource();
    running = source;
    try {
      await ask(source.token);
    } finally {
      source.dispose();
      if (running === source) {
        running = undefined;
      }
    }
  }

  return {
    request() {
      const now = Date.now();
      waitingSince ??= now;
      clearTimeout(timer);
      const pause = Math.max(0, Math.min(settled, waitingSince + 5 * settled - now));
      timer = setTimeout(() => void begin(), pause);
    },
    dispose() {
      clearTimeout(timer);
      running?.cancel();
    },
  };
}

/**
 * Returns a `request` that runs `ask` immediately. If requests arrive while it runs, it runs once more
 * afterwards.
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
        // The change that caused the request may not have been sent yet.
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
