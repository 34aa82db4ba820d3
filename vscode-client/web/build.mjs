// Builds the pages into web/dist, and copies them into the Python package, which serves them too.

import { cpSync, rmSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { build, context } from "esbuild";

import { packagesIn, writeNotices } from "./notices.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
/** Part of the wheel, but not of the repository. */
const served = path.join(here, "..", "..", "server", "promptls", "pages");

const options = {
  bundle: true,
  absWorkingDir: here,
  metafile: true,
  // A page is a script and a style sheet of the same name.
  entryPoints: {
    preview: "src/preview/preview.tsx",
    "preview-style": "src/preview/page.css",
    truncation: "src/truncation/truncation.tsx",
    "truncation-style": "src/truncation/page.css",
    results: "src/results/results.tsx",
    "results-style": "src/results/page.css",
    browser: "src/shared/browser.css",
  },
  platform: "browser",
  // Includes the browsers that open `promptls preview`.
  target: ["chrome122", "firefox128", "safari17"],
  format: "iife",
  jsx: "automatic",
  jsxImportSource: "preact",
};

/**
 * Builds the pages and the notices of the packages that they contain; returns the folders of these packages.
 */
export async function buildPages() {
  const outdir = path.join(here, "dist");
  rmSync(outdir, { recursive: true, force: true });
  const result = await build({ ...options, outdir, minify: true });
  const packages = packagesIn(result, here);
  writeNotices(outdir, packages);
  rmSync(served, { recursive: true, force: true });
  cpSync(outdir, served, { recursive: true });
  return { outdir, packages };
}

/** Builds the pages into a folder, with source maps, and rebuilds them on each change. */
export async function watchPages(outdir) {
  await (await context({ ...options, outdir, sourcemap: true })).watch();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await buildPages();
}
