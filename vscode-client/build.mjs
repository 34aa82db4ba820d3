// Builds the extension into out/: the extension itself, the pages of its panels, the grammars; and beside it
// the license, the changelog, the pictures of the walkthrough, and the notices of the packages that it contains.
// With --wheel also the server's Python wheel into wheel/, with the lock files of what it needs; with --watch builds again on each change.

import { execFileSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { build, context } from "esbuild";

import { buildPages, watchPages } from "./web/build.mjs";
import { packagesIn, writeNotices } from "./web/notices.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const out = path.join(here, "out");
const options = new Set(process.argv.slice(2));
const shared = {
  bundle: true,
  minify: !options.has("--watch"),
  sourcemap: options.has("--watch"),
  metafile: true,
  absWorkingDir: here,
};

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
rmSync(out, { recursive: true, force: true });
cpSync(path.join(here, "..", "grammars"), path.join(out, "grammars"), {
  recursive: true,
  filter: (source) => !source.endsWith(`${path.sep}tests`),
});
if (options.has("--watch")) {
  await (await context(extension)).watch();
  await watchPages(path.join(out, "webview"));
} else {
  const [built, pages] = await Promise.all([build(extension), buildPages()]);
  cpSync(pages.outdir, path.join(out, "webview"), { recursive: true });
  writeNotices(here, new Set([...packagesIn(built, here), ...pages.packages]));
  cpSync(path.join(here, "..", "LICENSE"), path.join(here, "LICENSE"));
  cpSync(path.join(here, "..", "docs", "pictures"), path.join(here, "pictures"), { recursive: true });
  const changelog = readFileSync(path.join(here, "..", "CHANGELOG.md"), "utf8");
  writeFileSync(path.join(here, "CHANGELOG.md"), changelog.replaceAll("](docs/", "](../docs/"));
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
      [
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--disable-pip-version-check",
        "--wheel-dir",
        aside,
        path.dirname(here),
      ],
      { stdio: ["ignore", "inherit", "inherit"] },
    );
    const [built] = readdirSync(aside);
    for (const old of readdirSync(wheels).filter((name) => name.endsWith(".whl"))) {
      rmSync(path.join(wheels, old));
    }
    renameSync(path.join(aside, built), path.join(wheels, built));
    for (const lock of [
      path.join(here, "requirements.txt"),
      path.join(here, "../server/promptls/models/smollm2.txt"),
    ]) {
      cpSync(lock, path.join(wheels, path.basename(lock)));
    }
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
}
