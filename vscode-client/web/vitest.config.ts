import { defineConfig } from "vitest/config";

export default defineConfig({
  // As the build does it.
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  // Tests of components name `happy-dom` as their environment.
  test: { include: ["test/**/*.test.{ts,tsx}"] },
});
