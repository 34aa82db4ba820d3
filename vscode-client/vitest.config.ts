import { defineConfig } from "vitest/config";

// The pages have tests of their own.
export default defineConfig({ test: { include: ["test/**/*.test.ts"] } });
