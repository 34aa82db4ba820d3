import type { TokensResult } from "@promptls/web/wire/commands";
import { expect, it } from "vitest";

import { describeTokens } from "../src/tokens";

const COUNT: TokensResult = {
  total: 1234,
  limit: 2000,
  encoding: "o200k_base",
  approximate: false,
  parts: [{ name: "a|b *c*", tokens: 12 }],
};

it("says the count against the limit", () => {
  expect(describeTokens(COUNT)).toMatchObject({
    text: "$(symbol-numeric) 1,234 / 2,000 tokens",
    over: false,
  });
});

it("says the count alone where there is no limit", () => {
  expect(describeTokens({ ...COUNT, limit: null }).text).toBe("$(symbol-numeric) 1,234 tokens");
});

it("marks a count that is only near", () => {
  expect(describeTokens({ ...COUNT, approximate: true }).text).toContain("≈ 1,234");
});

it("warns over the limit", () => {
  const { text, over } = describeTokens({ ...COUNT, limit: 1000 });
  expect(over).toBe(true);
  expect(text).toContain("$(warning)");
});

it("keeps the names of parts from acting as Markdown", () => {
  expect(describeTokens(COUNT).tooltip).toContain("| a\\|b \\*c\\* | 12 |");
});
