import * as os from "node:os";

import { expect, it } from "vitest";

import { runProcess } from "../src/process";

const place = { cwd: os.tmpdir(), timeoutMilliseconds: 60_000 };

it("resolves with what a program says and how it ends", async () => {
  const script = "console.log('out'); console.error('err'); process.exitCode = 3";
  expect(await runProcess(process.execPath, ["-e", script], place)).toEqual({
    code: 3,
    stdout: "out\n",
    stderr: "err\n",
  });
});

it("says why a program could not be started", async () => {
  const { code, stderr } = await runProcess("promptls-no-such-program", [], place);
  expect(code).toBeNull();
  expect(stderr).toContain("ENOENT");
});

it("interrupts a program together with those that it has started", async () => {
  const controller = new AbortController();
  const waits = "console.log(process.pid); setInterval(() => {}, 1000)";
  // The outer program ignores the signal and ends with the inner one, which shares its output.
  const outer = `process.on("SIGINT", () => {}); require("child_process").spawn(process.execPath, ["-e", ${JSON.stringify(waits)}], { stdio: "inherit" })`;
  const { stdout } = await runProcess(process.execPath, ["-e", outer], {
    ...place,
    signal: controller.signal,
    onOutput: () => controller.abort(),
  });
  expect(() => process.kill(Number(stdout), 0)).toThrow("ESRCH");
});
