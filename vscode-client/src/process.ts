/** Runs a program until it ends. */

import { type ChildProcess, spawn } from "node:child_process";

export interface ProcessResult {
  /** Null if the program could not be started or was ended by a signal. */
  code: number | null;
  stdout: string;
  stderr: string;
}

interface ProcessOptions {
  /** Must not be a workspace folder, because Python would import modules from it. */
  cwd: string;
  timeoutMilliseconds: number;
  onOutput?: (text: string) => void;
  /** Interrupts the program and its child processes. */
  signal?: AbortSignal;
}

export type RunProcess = (command: string, args: string[], options: ProcessOptions) => Promise<ProcessResult>;

const IS_WINDOWS = process.platform === "win32";

function interruptTree(child: ChildProcess): void {
  if (child.pid === undefined) {
    return;
  }
  if (IS_WINDOWS) {
    spawn("taskkill", ["/pid", String(child.pid), "/T", "/F"], { stdio: "ignore", windowsHide: true });
    return;
  }
  try {
    process.kill(-child.pid, "SIGINT");
  } catch {
    // It has already ended.
  }
}

/**
 * Resolves to the exit code and both outputs. Never rejects: if the program cannot be started, `stderr` says
 * why.
 */
export const runProcess: RunProcess = (command, args, options) =>
  new Promise((resolve) => {
    let stdout = "";
    let stderr = "";
    const child = spawn(command, args, {
      cwd: options.cwd,
      timeout: options.timeoutMilliseconds,
      stdio: ["ignore", "pipe", "pipe"],
      windowsHide: true,
      // The program has its own process group, which can be interrupted as a whole.
      detached: options.signal !== undefined && !IS_WINDOWS,
    });
    const interrupt = () => interruptTree(child);
    options.signal?.addEventListener("abort", interrupt);
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
      options.onOutput?.(text);
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
      options.onOutput?.(text);
    });
    child.on("error", (error) => resolve({ code: null, stdout, stderr: `${stderr}${error.message}` }));
    child.on("close", (code, signal) => {
      options.signal?.removeEventListener("abort", interrupt);
      resolve({ code, stdout, stderr: signal === null ? stderr : `${stderr}ended by ${signal}` });
    });
  });
