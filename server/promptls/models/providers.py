"""The table of providers, and the prices of their models."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

from promptls.models.model import Completion, ModelReference

Route = Literal["local", "echo", "replay", "chat", "library", "editor"]


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider of models.

    `base_url` is the provider's address; the user's variable `base_url_env` may override it.
    `chat` providers use OpenAI's chat completions protocol at that address; `library` providers are called
    with pydantic-ai, which requires `packages`; `editor` models are those of the editor that
    started the run.
    `key_envs` are the variables that may contain the key, and the first one that is set is used; a missing
    key is an error if `needs_key`. `credential_envs` are variables that the provider's library reads instead.
    Calls of `paid` providers cost money. `priced_as` is the provider's name in the price list.
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


def _hosted(summary: str, url: str, key: str, priced_as: str | None) -> Provider:
    return Provider(
        summary, "chat", base_url=url, key_envs=(key,), needs_key=True, paid=True, priced_as=priced_as
    )


TABLE: dict[str, Provider] = {
    "local": Provider(
        "a model on this machine: `local:smollm2`, `local:<package>` or `local:<file>.gguf`", "local"
    ),
    "openai": _hosted(
        "OpenAI, or any server that speaks its protocol at a `base_url`",
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
        "openai",
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
        "repeats the answers in the table of an earlier run or a JSON Lines file: `replay:<file>`", "replay"
    ),
}
"""All providers by name."""


# Both price lists give prices for this number of tokens.
MILLION = 1_000_000


class Price(NamedTuple):
    """US dollars per token of the prompt and of the answer; None if unknown.

    `cached` is the price of input tokens that the provider reads from its prefix cache, and `written` that
    of tokens that it writes there; None if they cost as much as others.
    """

    input: float | None
    output: float | None
    cached: float | None = None
    written: float | None = None

    def cost(self, input_tokens: int | None, output_tokens: int | None) -> float | None:
        """Return the US dollars for these numbers of tokens; None if the price or a count is unknown."""
        known = [
            price * tokens
            for price, tokens in ((self.input, input_tokens), (self.output, output_tokens))
            if price is not None and tokens is not None
        ]
        return sum(known) if known else None


FREE = Price(0.0, 0.0)
UNKNOWN = Price(None, None)


def cost_of(answer: Completion, price: Price | None) -> float | None:
    """Return the US dollars for an answer: what the provider reports, otherwise computed from the price.

    None if neither is known.
    """
    if answer.cost is not None or price is None:
        return answer.cost
    whole = price.cost(answer.input_tokens, answer.output_tokens)
    if whole is None or price.input is None or answer.input_tokens is None:
        return whole
    for part, tokens in ((price.cached, answer.cached_tokens), (price.written, answer.written_tokens)):
        if part is not None:
            whole += (part - price.input) * (tokens or 0)
    return whole


def price_of(reference: ModelReference) -> Price:
    """Return the price of the model's tokens.

    Local models are free, and so are Ollama and vLLM without a key set by the project. A custom server
    at a `base_url` has no known price unless the project sets one.
    """
    if reference.input_price is not None or reference.output_price is not None:
        own = (reference.input_price, reference.output_price, reference.cached_input_price)
        return Price(*(None if each is None else each / MILLION for each in own))
    provider = TABLE[reference.provider]
    if not provider.paid and not _sends_key(reference):
        return FREE
    if reference.base_url is not None or provider.priced_as is None:
        return UNKNOWN
    return _listed(provider.priced_as, reference.model)


def is_paid(reference: ModelReference) -> bool:
    """Return whether calls cost money: the provider charges, or the settings contain a price.

    A custom server at a `base_url` is free unless it gets a key or the project sets a price.
    """
    price = price_of(reference)
    if price == UNKNOWN:
        if reference.base_url is not None:
            return _sends_key(reference)
        return TABLE[reference.provider].paid
    return bool(price.input or price.output)


def _sends_key(reference: ModelReference) -> bool:
    """Return whether the project sends a key to a custom server, which may then charge for calls."""
    return reference.base_url is not None and reference.api_key_env is not None


@lru_cache(maxsize=64)
def _listed(provider: str, model: str) -> Price:
    try:
        from genai_prices import Usage, calc_price
    except ImportError:
        return UNKNOWN
    try:
        # Prices increase with the prompt's length in steps; the price of short prompts applies to most.
        found = calc_price(Usage(input_tokens=1000, output_tokens=1000), model, provider_id=provider)
        cached = calc_price(Usage(input_tokens=1000, cache_read_tokens=1000), model, provider_id=provider)
        written = calc_price(Usage(input_tokens=1000, cache_write_tokens=1000), model, provider_id=provider)
    except LookupError:
        return UNKNOWN
    prices = (found.input_price, found.output_price, cached.input_price, written.input_price)
    return Price(*(float(price) / 1000 for price in prices))


def window_of(reference: ModelReference) -> int | None:
    """Return the context window in tokens, for prompt and answer together; None if unknown."""
    priced_as = TABLE[reference.provider].priced_as
    if priced_as is None or reference.base_url is not None:
        return None
    return _windows_listed(priced_as, reference.model)


@lru_cache(maxsize=64)
def _windows_listed(provider: str, model: str) -> int | None:
    try:
        from genai_prices.data_snapshot import get_snapshot
    except ImportError:
        return None
    try:
        _, found = get_snapshot().find_provider_model(model, None, provider, None)
    except LookupError:
        return None
    return found.context_window
