import { readFileSync } from "node:fs";
import path from "node:path";

import { expect, test } from "vitest";

/** What a package says of the VS Code that it runs in: the oldest version as numbers. */
function oldest(file: string): number[] {
  const { engines } = JSON.parse(readFileSync(path.join(__dirname, file), "utf8")) as {
    engines: { vscode: string };
  };
  return engines.vscode.replace("^", "").split(".").map(Number);
}

test("the language client runs in the oldest VS Code that the extension is for", () => {
  const [major, minor] = oldest("../package.json");
  const [needsMajor, needsMinor] = oldest("../node_modules/vscode-languageclient/package.json");
  expect(needsMajor).toBe(major);
  expect(needsMinor).toBeLessThanOrEqual(minor ?? 0);
});

test("the types are those of the oldest VS Code, so that nothing newer is used unseen", () => {
  const types = JSON.parse(
    readFileSync(path.join(__dirname, "../node_modules/@types/vscode/package.json"), "utf8"),
  ) as { version: string };
  expect(types.version.split(".").slice(0, 2).map(Number)).toEqual(oldest("../package.json").slice(0, 2));
});
