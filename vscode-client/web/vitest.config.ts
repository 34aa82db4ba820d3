import { defineConfig } from "vitest/config";

export default defineConfig({
  // As in the build.
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  // Component tests declare `happy-dom` as their environment.
  test: { include: ["test/**/*.test.{ts,tsx}"] },
});
