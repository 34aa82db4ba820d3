/** The request to a provider, as cURL and as Python. Keys appear only as names of variables. */

import type { ChatMessage } from "../wire/preview";
export type Provider = "OpenAI" | "Anthropic";
export type Language = "cURL" | "Python";

export interface RequestSettings {
  model: string;
  temperature: number | null;
  maxTokens: number | null;
  seed: number | null;
  /** The name and JSON Schema of the answer, in OpenAI's format. */
  schema: { schema?: unknown } | null;
}

const DEFAULT_MAX_TOKENS = 1024;

/** Returns the provider whose API an experiment's model uses; most others use OpenAI's. */
export function providerOf(model: string | undefined): Provider {
  return model?.startsWith("anthropic:") === true || model?.startsWith("claude") === true
    ? "Anthropic"
    : "OpenAI";
}

/** Returns the model's name without the provider prefix of experiments. */
export function modelName(model: string | undefined, provider: Provider): string {
  if (model === undefined || providerOf(model) !== provider) {
    return provider === "OpenAI" ? "gpt-4o" : "claude-sonnet-4-5";
  }
  return model.slice(model.indexOf(":") + 1);
}

export function requestText(
  messages: readonly ChatMessage[],
  provider: Provider,
  language: Language,
  settings: RequestSettings,
): string {
  const body = bodyOf(messages, provider, settings);
  return language === "cURL" ? curl(body, provider) : python(body, provider);
}

/**
 * Returns the request body. Anthropic expects the system text outside of the messages, and a limit on the
 * answer.
 */
export function bodyOf(
  messages: readonly ChatMessage[],
  provider: Provider,
  { model, temperature, maxTokens, seed, schema }: RequestSettings,
): Record<string, unknown> {
  const warmth = temperature === null ? {} : { temperature };
  if (provider === "OpenAI") {
    const bound = maxTokens === null ? {} : { max_completion_tokens: maxTokens };
    return {
      model,
      messages: messages.map((message) => ({ ...message, role: plainRole(message.role) })),
      ...warmth,
      ...bound,
      ...(seed === null ? {} : { seed }),
      ...(schema === null ? {} : { response_format: { type: "json_schema", json_schema: schema } }),
    };
  }
  const system = messages.filter(({ role }) => isSystem(role)).map(({ content }) => textOf(content));
  const others = messages
    .filter(({ role }) => !isSystem(role))
    .map((message) => ({ ...message, role: plainRole(message.role) }));
  return {
    model,
    max_tokens: maxTokens ?? DEFAULT_MAX_TOKENS,
    ...(system.length === 0 ? {} : { system: system.join("\n\n") }),
    messages: others,
    ...warmth,
    ...(schema === null ? {} : { output_config: { format: { type: "json_schema", schema: schema.schema } } }),
  };
}

function isSystem(role: string): boolean {
  return ["system", "developer"].includes(role.toLowerCase());
}

function plainRole(role: string): string {
  const known: Record<string, string> = {
    human: "user",
    ai: "assistant",
    bot: "assistant",
    model: "assistant",
  };
  return known[role.toLowerCase()] ?? role.toLowerCase();
}

function textOf(content: unknown): string {
  return typeof content === "string" ? content : content === undefined ? "" : JSON.stringify(content);
}

const HEADERS: Record<Provider, { url: string; headers: string[] }> = {
  OpenAI: {
    url: "${OPENAI_BASE_URL:-https://api.openai.com/v1}/chat/completions",
    headers: ["Authorization: Bearer $OPENAI_API_KEY"],
  },
  Anthropic: {
    url: "https://api.anthropic.com/v1/messages",
    headers: ["x-api-key: $ANTHROPIC_API_KEY", "anthropic-version: 2023-06-01"],
  },
};

function curl(body: object, provider: Provider): string {
  const { url, headers } = HEADERS[provider];
  const lines = [
    `curl "${url}"`,
    ...headers.map((header) => `-H "${header}"`),
    '-H "Content-Type: application/json"',
    // The shell interprets nothing inside single quotes; a quote ends the text, is escaped, and starts it
    // again.
    `-d '${JSON.stringify(body, null, 2).replaceAll("'", "'\\''")}'`,
  ];
  return `${lines.join(" \\\n  ")}\n`;
}

function python(body: Record<string, unknown>, provider: Provider): string {
  const [module, client, call, variable, answer] =
    provider === "OpenAI"
      ? [
          "openai",
          "OpenAI",
          "chat.completions.create",
          "OPENAI_API_KEY",
          "response.choices[0].message.content",
        ]
      : ["anthropic", "Anthropic", "messages.create", "ANTHROPIC_API_KEY", "response.content[0].text"];
  const fields = Object.entries(body).map(([name, value]) => `    ${name}=${literal(value, 1)},`);
  return [
    `from ${module} import ${client}`,
    "",
    `client = ${client}()  # takes the key from the environment variable ${variable}`,
    `response = client.${call}(`,
    ...fields,
    ")",
    `print(${answer})`,
    "",
  ].join("\n");
}

/** Returns a JSON value as a Python expression. */
export function literal(value: unknown, depth = 0): string {
  const inner = "    ".repeat(depth + 1);
  const end = "    ".repeat(depth);
  if (value === null || value === undefined) {
    return "None";
  }
  if (typeof value === "boolean") {
    return value ? "True" : "False";
  }
  if (typeof value === "string") {
    return text(value);
  }
  if (Array.isArray(value)) {
    return value.length === 0
      ? "[]"
      : `[\n${value.map((each) => `${inner}${literal(each, depth + 1)},\n`).join("")}${end}]`;
  }
  if (typeof value === "object") {
    const pairs = Object.entries(value);
    return pairs.length === 0
      ? "{}"
      : `{\n${pairs.map(([name, each]) => `${inner}${text(name)}: ${literal(each, depth + 1)},\n`).join("")}${end}}`;
  }
  return JSON.stringify(value);
}

/** Python understands JSON escapes except surrogate pairs, so other characters are written unescaped. */
function text(value: string): string {
  return JSON.stringify(value).replace(
    /[\u2028\u2029\u202a-\u202e\u2066-\u2069]/g,
    (found) => `\\u${found.charCodeAt(0).toString(16)}`,
  );
}
