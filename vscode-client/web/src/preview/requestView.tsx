/** The request to a provider. */

import { signal } from "@preact/signals";

import { Choice } from "../shared/choice";
import type { ChatMessage, PreviewResult } from "../wire/preview";
import { Plain } from "./plain";
import { type Language, modelName, type Provider, providerOf, requestText } from "./request";

const provider = signal<Provider | undefined>(undefined);
const language = signal<Language>("cURL");

/** Returns the request as it is shown. */
export function currentRequest(messages: readonly ChatMessage[], result: PreviewResult): string {
  const model = result.request.models[0];
  const chosen = provider.value ?? providerOf(model);
  return requestText(messages, chosen, language.value, {
    model: modelName(model?.startsWith("local:") === true ? undefined : model, chosen),
    temperature: result.request.temperature,
    maxTokens: result.request.maxTokens,
    seed: result.request.seed,
    schema: result.request.schema,
  });
}

export function RequestView({
  messages,
  result,
}: {
  messages: readonly ChatMessage[];
  result: PreviewResult;
}) {
  const chosen = provider.value ?? providerOf(result.request.models[0]);
  return (
    <>
      <div class="options-row">
        <Choice
          label="Provider"
          names={["OpenAI", "Anthropic"]}
          current={chosen}
          onChoose={(name) => {
            provider.value = name;
          }}
        />
        <Choice
          label="Language"
          names={["cURL", "Python"]}
          current={language.value}
          onChoose={(name) => {
            language.value = name;
          }}
        />
        <span class="hint">
          {chosen === "OpenAI" ? "Works with every OpenAI-compatible server: set OPENAI_BASE_URL. " : ""}
          The key stays in the environment.
        </span>
      </div>
      <Plain
        text={currentRequest(messages, result)}
        label={`Request to ${chosen} in ${language.value}`}
        isJson
      />
    </>
  );
}
