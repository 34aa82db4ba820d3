// Builds the extension into out/: the extension itself, the pages of its panels, the grammars.
// With --wheel also the server's Python wheel into wheel/; with --watch builds again on each change.

import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { build, context } from "esbuild";

const here = path.dirname(fileURLToPath(import.meta.url));
const out = path.join(here, "out");
const options = new Set(process.argv.slice(2));
const shared = { bundle: true, minify: !options.has("--watch"), sourcemap: options.has("--watch"), absWorkingDir: here };

const extension = {
  ...shared,
  entryPoints: ["src/extension.ts"],
  outfile: "out/extension.js",
  platform: "node",
  // The oldest Node.js of the VS Code versions that are supported.
  target: "node20",
  format: "cjs",
  external: ["vscode"],
};
const pages = {
  ...shared,
  // A page is a script and a style sheet of its name.
  entryPoints: {
    preview: "src/webview/preview/preview.tsx",
    "preview-style": "src/webview/preview/page.css",
    truncation: "src/webview/truncation/truncation.tsx",
    "truncation-style": "src/webview/truncation/page.css",
    results: "src/webview/results/results.tsx",
    "results-style": "src/webview/results/page.css",
    browser: "src/webview/shared/browser.css",
  },
  outdir: "out/webview",
  platform: "browser",
  // Also of the browsers in which `promptls preview` opens.
  target: ["chrome122", "firefox128", "safari17"],
  format: "iife",
  jsx: "automatic",
  jsxImportSource: "preact",
};
/** The pages that the Python package serves by itself: part of its wheel, and never of the repository. */
const served = path.join(here, "..", "server", "promptls", "pages");

rmSync(out, { recursive: true, force: true });
cpSync(path.join(here, "..", "grammars"), path.join(out, "grammars"), {
  recursive: true,
  filter: (source) => !source.endsWith(`${path.sep}tests`),
});
if (options.has("--watch")) {
  for (const each of [extension, pages]) {
    await (await context(each)).watch();
  }
} else {
  await Promise.all([build(extension), build(pages)]);
  rmSync(served, { recursive: true, force: true });
  cpSync(path.join(out, "webview"), served, { recursive: true });
}
if (options.has("--wheel")) {
  buildWheel();
}

/** The wheel is built aside and then moved, so that an interrupted build leaves the last one. */
function buildWheel() {
  const wheels = path.join(here, "wheel");
  mkdirSync(wheels, { recursive: true });
  const aside = mkdtempSync(path.join(wheels, ".build-"));
  const python = process.env.PYTHON ?? (process.platform === "win32" ? "python" : "python3");
  try {
    execFileSync(
      python,
      ["-m", "pip", "wheel", "--quiet", "--no-deps", "--disable-pip-version-check", "--wheel-dir", aside, path.dirname(here)],
      { stdio: ["ignore", "inherit", "inherit"] },
    );
    const [built] = readdirSync(aside);
    for (const old of readdirSync(wheels).filter((name) => name.endsWith(".whl"))) {
      rmSync(path.join(wheels, old));
    }
    renameSync(path.join(aside, built), path.join(wheels, built));
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
}
