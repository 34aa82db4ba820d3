"""The providers of models: what a name before the colon stands for, and where its requests go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Route = Literal["local", "echo", "replay", "chat", "library", "editor"]


@dataclass(frozen=True, slots=True)
class Provider:
    """A kind of model.

    `base_url` is the provider's own address; the user's variable `base_url_env` may hold another one.
    `chat` providers are asked there in OpenAI's chat completions protocol; `library` ones through
    pydantic-ai, and `packages` are what that needs beside it; `editor` ones are those of the editor that has
    started the run.
    `key_envs` are the variables that may hold the key, the first one found counts; without one the provider
    is refused where `needs_key`. `credential_envs` are what the provider's library reads instead of a key.
    `paid` ones take money for each call. `priced_as` is the provider's name in the price list.
    """

    summary: str
    route: Route
    base_url: str | None = None
    base_url_env: str | None = None
    key_envs: tuple[str, ...] = ()
    needs_key: bool = False
    credential_envs: tuple[str, ...] = ()
    paid: bool = False
    packages: tuple[str, ...] = ()
    priced_as: str | None = None


def _hosted(summary: str, url: str, key: str, priced_as: str | None = None) -> Provider:
    return Provider(
        summary, "chat", base_url=url, key_envs=(key,), needs_key=True, paid=True, priced_as=priced_as
    )


TABLE: dict[str, Provider] = {
    "local": Provider(
        "a model on this machine: `local:smollm2`, `local:<package>` or `local:<file>.gguf`", "local"
    ),
    "openai": Provider(
        "OpenAI, or any server that speaks its protocol at a `base_url`",
        "chat",
        base_url="https://api.openai.com/v1",
        key_envs=("OPENAI_API_KEY",),
        needs_key=True,
        paid=True,
        priced_as="openai",
    ),
    "anthropic": Provider(
        "Anthropic",
        "library",
        base_url="https://api.anthropic.com",
        base_url_env="ANTHROPIC_BASE_URL",
        key_envs=("ANTHROPIC_API_KEY",),
        needs_key=True,
        paid=True,
        packages=("anthropic",),
        priced_as="anthropic",
    ),
    "google": Provider(
        "Google Gemini",
        "library",
        base_url="https://generativelanguage.googleapis.com",
        base_url_env="GOOGLE_GEMINI_BASE_URL",
        key_envs=("GOOGLE_API_KEY", "GEMINI_API_KEY"),
        needs_key=True,
        paid=True,
        packages=("google.genai",),
        priced_as="google",
    ),
    "azure": Provider(
        "Azure OpenAI: `azure:<deployment>`, with the resource's address in `AZURE_OPENAI_ENDPOINT`",
        "chat",
        base_url_env="AZURE_OPENAI_ENDPOINT",
        key_envs=("AZURE_OPENAI_API_KEY",),
        needs_key=True,
        paid=True,
        priced_as="azure",
    ),
    "bedrock": Provider(
        "Amazon Bedrock, with the credentials of the AWS environment",
        "library",
        base_url="https://bedrock-runtime.amazonaws.com",
        key_envs=("AWS_BEARER_TOKEN_BEDROCK",),
        credential_envs=("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"),
        paid=True,
        packages=("boto3",),
        priced_as="aws",
    ),
    "ollama": Provider(
        "Ollama on this machine, or at `OLLAMA_BASE_URL`",
        "chat",
        base_url="http://localhost:11434/v1",
        base_url_env="OLLAMA_BASE_URL",
        key_envs=("OLLAMA_API_KEY",),
    ),
    "vllm": Provider(
        "vLLM on this machine, or at `VLLM_BASE_URL`",
        "chat",
        base_url="http://localhost:8000/v1",
        base_url_env="VLLM_BASE_URL",
        key_envs=("VLLM_API_KEY",),
    ),
    "openrouter": _hosted("OpenRouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", "openrouter"),
    "groq": _hosted("Groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY", "groq"),
    "mistral": _hosted("Mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY", "mistral"),
    "deepseek": _hosted("DeepSeek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", "deepseek"),
    "together": _hosted("Together AI", "https://api.together.xyz/v1", "TOGETHER_API_KEY", "together"),
    "vscode": Provider(
        "a model that VS Code offers to its extensions: `vscode:<vendor>/<family>`", "editor", paid=True
    ),
    "echo": Provider("answers with the last message, for tests", "echo"),
    "replay": Provider(
        "answers out of the table of a former run, or a JSON Lines file: `replay:<file>`", "replay"
    ),
}
"""Every provider by its name."""
