import type { TokensResult } from "@promptls/web/wire/commands";
import { expect, it } from "vitest";

import { describeTokens } from "../src/tokens";

const COUNT: TokensResult = {
  total: 1234,
  kept: 1234,
  sample: "short",
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

it("does not warn if truncation brings the prompt under the limit", () => {
  const { text, tooltip, over } = describeTokens({ ...COUNT, limit: 300, total: 557, kept: 287 });
  expect(over).toBe(false);
  expect(text).toBe("$(symbol-numeric) 287 / 300 tokens");
  expect(tooltip).toContain("Truncation cuts 270 of 557 tokens.");
});

it("names the sample", () => expect(describeTokens(COUNT).tooltip).toContain("Rendered with short."));

it("warns over the limit", () => {
  const { text, over } = describeTokens({ ...COUNT, limit: 1000 });
  expect(over).toBe(true);
  expect(text).toContain("$(warning)");
});

it("keeps the names of parts from acting as Markdown", () => {
  expect(describeTokens(COUNT).tooltip).toContain("| a\\|b \\*c\\* | 12 |");
});
