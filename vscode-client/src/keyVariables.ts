/** Variables in which providers look for a key; `python -m promptls.docgen` writes this. */
export const KEY_VARIABLES: readonly { name: string; provider: string }[] = [
  { name: "OPENAI_API_KEY", provider: "openai" },
  { name: "ANTHROPIC_API_KEY", provider: "anthropic" },
  { name: "GOOGLE_API_KEY", provider: "google" },
  { name: "GEMINI_API_KEY", provider: "google" },
  { name: "AZURE_OPENAI_API_KEY", provider: "azure" },
  { name: "AWS_BEARER_TOKEN_BEDROCK", provider: "bedrock" },
  { name: "OLLAMA_API_KEY", provider: "ollama" },
  { name: "VLLM_API_KEY", provider: "vllm" },
  { name: "OPENROUTER_API_KEY", provider: "openrouter" },
  { name: "GROQ_API_KEY", provider: "groq" },
  { name: "MISTRAL_API_KEY", provider: "mistral" },
  { name: "DEEPSEEK_API_KEY", provider: "deepseek" },
  { name: "TOGETHER_API_KEY", provider: "together" },
];
