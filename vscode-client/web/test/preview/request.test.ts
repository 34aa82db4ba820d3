import { execFileSync } from "node:child_process";

import { describe, expect, it } from "vitest";

import { bodyOf, literal, modelName, requestText } from "../../src/preview/request";

const MESSAGES = [
  { role: "System", content: 'It\'s "so".\n$(touch /tmp/x) `id`' },
  { role: "human", content: "Größe 🎉 </script>\u2028" },
];
const SETTINGS = { model: "gpt-4o", temperature: 0, maxTokens: 60, seed: null, schema: null };

describe("the request", () => {
  it("to a server that speaks as OpenAI holds the messages with plain roles", () => {
    expect(bodyOf(MESSAGES, "OpenAI", SETTINGS)).toEqual({
      model: "gpt-4o",
      messages: [
        { role: "system", content: MESSAGES[0]?.content },
        { role: "user", content: MESSAGES[1]?.content },
      ],
      temperature: 0,
      max_completion_tokens: 60,
    });
  });

  it("to a server that speaks as OpenAI holds the seed and the schema of the answer", () => {
    const schema = { name: "answer", schema: { type: "object" } };
    const body = bodyOf(MESSAGES, "OpenAI", { ...SETTINGS, seed: 7, schema });
    expect(body.seed).toBe(7);
    expect(body.response_format).toEqual({ type: "json_schema", json_schema: schema });
  });

  it("to Anthropic has the system's text beside the messages, and a bound on the answer", () => {
    const settings = { ...SETTINGS, model: "claude", temperature: null, maxTokens: null };
    expect(bodyOf(MESSAGES, "Anthropic", settings)).toEqual({
      model: "claude",
      max_tokens: 1024,
      system: MESSAGES[0]?.content,
      messages: [{ role: "user", content: MESSAGES[1]?.content }],
    });
  });

  it("to Anthropic holds the schema of the answer", () => {
    const schema = { name: "answer", schema: { type: "object" } };
    const body = bodyOf(MESSAGES, "Anthropic", { ...SETTINGS, schema });
    expect(body.output_config).toEqual({ format: { type: "json_schema", schema: { type: "object" } } });
  });

  it("as cURL is read by a shell as the same JSON, and runs nothing of it", () => {
    const command = requestText(MESSAGES, "OpenAI", "cURL", SETTINGS).replace(/^curl /, "printf '%s\\n' ");
    const words = execFileSync("sh", ["-c", command], { encoding: "utf-8", env: { OPENAI_API_KEY: "k" } });
    expect(JSON.parse(words.slice(words.indexOf("\n-d\n") + 4))).toEqual(
      bodyOf(MESSAGES, "OpenAI", SETTINGS),
    );
  });

  it.each(["OpenAI", "Anthropic"] as const)("names the key of %s and holds none", (provider) => {
    const variable = `${provider.toUpperCase()}_API_KEY`;
    expect(requestText(MESSAGES, provider, "cURL", SETTINGS)).toContain(`$${variable}`);
    expect(requestText(MESSAGES, provider, "Python", SETTINGS)).toContain(`environment variable ${variable}`);
  });
});

it("writes JSON values as Python reads them", () => {
  const value = { a: [true, false, null, 1.5, "x\ny\u2028'\""], b: {}, c: [] };
  const read = execFileSync("python3", ["-c", `import json; print(json.dumps(${literal(value)}))`], {
    encoding: "utf-8",
  });
  expect(JSON.parse(read)).toEqual(value);
});

it.each([
  ["openai:gpt-4o-mini", "OpenAI", "gpt-4o-mini"],
  ["anthropic:claude-x", "Anthropic", "claude-x"],
  ["anthropic:claude-x", "OpenAI", "gpt-4o"],
  [undefined, "OpenAI", "gpt-4o"],
] as const)("asks, where an experiment names %s, %s for %s", (model, provider, name) => {
  expect(modelName(model, provider)).toBe(name);
});
