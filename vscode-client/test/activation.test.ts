import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { expect, test } from "vitest";

import { anyPrompt, looksLikePrompt } from "../src/promptFiles";

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

const CORPUS = path.join(__dirname, "../../tests/corpus/files");
const EXAMPLES = path.join(__dirname, "../../examples");

function templatesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.ya?ml\.j2$/.test(name))
    .map((name) => path.join(folder, name));
}

test("a folder with prompts is a prompt project, and one of Ansible is not", async () => {
  expect(await anyPrompt(templatesIn(path.join(CORPUS, "prompts/parts")))).toBe(true);
  expect(await anyPrompt(templatesIn(EXAMPLES))).toBe(true);
  const others = templatesIn(path.join(CORPUS, "not_prompts"));
  expect(others.length).toBeGreaterThan(3);
  expect(await anyPrompt(others)).toBe(false);
  expect(await anyPrompt(["/no/such/file.yml.j2"])).toBe(false);
});

test("a folder whose templates are all new and empty is a prompt project", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "promptls-"));
  const [empty, other] = [path.join(folder, "new.yml.j2"), path.join(folder, "site.yml.j2")];
  writeFileSync(empty, "\n");
  writeFileSync(other, "image: {{ image }}\n");
  expect(await anyPrompt([empty])).toBe(true);
  expect(await anyPrompt([empty, other])).toBe(false);
  expect(await anyPrompt([])).toBe(false);
  rmSync(folder, { recursive: true });
});

test.each([
  ["a.yml.j2", "- name: greeting\n  content: Hi\n"],
  ["a.yaml.j2", "{% set a = 1 %}\n- role: system\n  content: Hi\n"],
  ["a.yml.j2", "{#---\ntoken_limit: 20\n---#}\n{{ text }}\n"],
  ["a.yml.j2", "instruction: Compare the two.\n"],
  ["a.yml.j2", "infer_cfg:\n  prompt_template: {}\n"],
  ["judge_english.json", '{"language": "english", "instruction": "Compare."}'],
])("%s is a prompt by its text: %j", (name, text) => expect(looksLikePrompt(name, text)).toBe(true));

test.each([
  ["a.yml.j2", "- name: install\n  copy:\n    content: Hi\n    dest: /etc/motd\n"],
  ["a.yml.j2", "- hosts: all\n  roles:\n    - role: nginx\n"],
  ["a.yml.j2", "users:\n  - name: a\n    role: admin\n"],
  ["a.yml.j2", "write_files:\n- path: /etc/a\n  content: |\n    {{ a }}\n"],
  ["a.yml.j2", "{#----- Managed by Ansible -----#}\nport: {{ port }}\n"],
  ["my_prompt_texts.json", '{"greeting": "Hello"}'],
])("%s is no prompt by its text: %j", (name, text) => expect(looksLikePrompt(name, text)).toBe(false));
