import { readFileSync } from "node:fs";
import path from "node:path";

import { expect, test } from "vitest";

const manifest = JSON.parse(readFileSync(path.join(__dirname, "../package.json"), "utf8")) as {
  activationEvents: string[];
};

test("the extension starts for prompts, and not for folders that other projects have as well", () => {
  expect(manifest.activationEvents).not.toContain("onStartupFinished");
  const globs = manifest.activationEvents
    .filter((event) => event.startsWith("workspaceContains:"))
    .map((event) => event.replace("workspaceContains:", ""));
  for (const file of ["prompts/a.yml.j2", "a.yaml.j2", "judge_english.json", "promptls.toml"]) {
    expect(globs.some((glob) => path.matchesGlob(file, glob))).toBe(true);
  }
  for (const file of ["prompts/a.json", "locales/english/app.json", "package.json", "a.yml"]) {
    expect(globs.some((glob) => path.matchesGlob(file, glob))).toBe(false);
  }
});
