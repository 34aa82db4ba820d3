"""Names of models and of embedding models: what they refer to, which are known, and which are retired."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from promptls.models.editor_model import is_editor_model
from promptls.models.model import ModelReference
from promptls.models.providers import TABLE
from promptls.models.weights import LOCAL_MODELS, SUFFIX, is_local_model
from promptls.text.errors import UsageError
from promptls.text.format import in_code
from promptls.text.suggest import nearest

if TYPE_CHECKING:
    from promptls.settings.project import ModelSettings


PROVIDERS: dict[str, str] = {name: provider.summary for name, provider in TABLE.items()}
"""The providers, with a description of each."""

MINILM: Final = "all-minilm-l6-v2"
LOCAL_EMBEDDINGS: Final = f"local:{MINILM}"
"""The default embedding model."""


def find_model(
    name: str, models: Mapping[str, ModelSettings] | None = None, base: Path | None = None
) -> ModelReference:
    """Resolve a model's name: one of the project's `models`, else `provider:model`.

    Paths of weights and of recorded answers are relative to the folder `base`. Raises `UsageError` with the
    most similar names for an unknown model. Nothing is opened or sent.
    """
    named = models or {}
    if name in named:
        if (provider := provider_shadowed_by(name)) is not None:
            raise UsageError(
                shadowing_message(name, provider), remedy="give it another name, without a colon"
            )
        return _of_project(name, named[name], base)
    provider, _, model = name.partition(":")
    if provider == "echo":
        return ModelReference(name, "echo", model or "echo")
    if provider == "vscode" and model and not is_editor_model(model):
        raise _unnamed(name)
    if provider in TABLE and model and (provider != "local" or is_local_model(model)):
        return ModelReference(name, provider, _locate(provider, model, base))
    raise UsageError(f"there is no model `{name}`", remedy=_known_models(name, named))


def provider_shadowed_by(name: str) -> str | None:
    """Return the provider whose model names have this form; projects must not redefine such names.

    Users must be able to rely on a name such as `openai:gpt-4.1-mini` in a plan.
    """
    provider, colon, _ = unicodedata.normalize("NFKC", name).partition(":")
    provider = provider.strip().casefold()
    return provider if provider in TABLE and (colon or provider == "echo") else None


def shadowing_message(name: str, provider: str) -> str:
    """Return the error message for a project's model of that name."""
    return f"a project's model cannot be called `{name}`: that is the name of a model of `{provider}`"


def find_embeddings(
    name: str | None, models: Mapping[str, ModelSettings] | None = None, base: Path | None = None
) -> ModelReference:
    """Resolve `name` to a model, by default the local one; raises `UsageError`."""
    if name is None or name == LOCAL_EMBEDDINGS:
        return ModelReference(LOCAL_EMBEDDINGS, "local", MINILM)
    return find_model(name, models, base)


def _of_project(name: str, settings: ModelSettings, base: Path | None) -> ModelReference:
    remedy = f"correct the provider of `models.{name}` in the project's settings"
    if settings.provider not in TABLE:
        known = in_code(TABLE)
        raise UsageError(f"there is no provider `{settings.provider}`", remedy=f"{remedy}; there are {known}")
    if settings.provider == "local" and not is_local_model(settings.model):
        raise UsageError(
            f"there is no local model `{settings.model}`",
            remedy=f"set `model` to one of {in_code(LOCAL_MODELS)}, or to a file that ends in `{SUFFIX}`",
        )
    if settings.provider == "vscode" and not is_editor_model(settings.model):
        raise _unnamed(name)
    return ModelReference(
        name=name,
        provider=settings.provider,
        model=_locate(settings.provider, settings.model, base),
        base_url=settings.base_url,
        api_key_env=settings.api_key_env,
        parameters=dict(settings.parameters),
        input_price=settings.input_price,
        output_price=settings.output_price,
        cached_input_price=settings.cached_input_price,
        from_project=True,
    )


def _unnamed(name: str) -> UsageError:
    return UsageError(
        f"the model `{name}` lacks its vendor and its family",
        remedy="write `vscode:<vendor>/<family>`, such as `vscode:copilot/gpt-4o`",
    )


def _locate(provider: str, model: str, base: Path | None) -> str:
    """Return the provider's name of the model; paths are made absolute."""
    is_path = provider == "replay" or (provider == "local" and model.lower().endswith(SUFFIX))
    if not is_path or base is None:
        return model
    return str((base / Path(model).expanduser()).absolute())


def _known_models(name: str, named: Mapping[str, ModelSettings]) -> str:
    known = [*named, *(f"local:{model}" for model in LOCAL_MODELS), "echo"]
    near = nearest(name, known)
    listed = in_code(known)
    hint = f"did you mean `{near}`? " if near else "" if ":" in name else f"write `<provider>:{name}`; "
    providers = ", ".join(f"`{provider}:`" for provider in TABLE if provider not in {"local", "echo"})
    return f"{hint}there are {listed}, models of {providers}, and what `models` in `promptls.toml` names"


class Retirement(NamedTuple):
    """When a provider retired a model."""

    provider: str
    date: str


# The sources are named in the page of the rule `retired-model`.
# Only dates that have passed, so that what is found does not depend on the day. The names are exact:
# a fine-tuned model, or one of another provider with the same name, has dates of its own.
_TABLE: Final = {
    ("openai", "OpenAI"): {
        "2024-09-13": "gpt-3.5-turbo-0301 gpt-3.5-turbo-0613 gpt-3.5-turbo-16k-0613",
        "2024-12-06": "gpt-4-vision-preview gpt-4-1106-vision-preview",
        "2025-06-06": "gpt-4-32k gpt-4-32k-0314 gpt-4-32k-0613",
        "2025-07-14": "gpt-4.5-preview gpt-4.5-preview-2025-02-27",
        "2025-07-28": "o1-preview o1-preview-2024-09-12",
        "2025-10-27": "o1-mini o1-mini-2024-09-12",
        "2026-02-17": "chatgpt-4o-latest",
        "2026-03-26": "gpt-4-0314 gpt-4-0125-preview gpt-4-turbo-preview",
        "2026-07-23": "gpt-5-chat-latest gpt-5.1-chat-latest gpt-5-codex gpt-5.1-codex",
        "2026-08-10": "gpt-5.2-chat-latest gpt-5.3-chat-latest",
        "2026-09-28": "gpt-3.5-turbo-1106 gpt-3.5-turbo-instruct",
        "2026-10-23": "gpt-3.5-turbo gpt-3.5-turbo-0125 gpt-4 gpt-4-0613 gpt-4-turbo gpt-4-turbo-2024-04-09 "
        "gpt-4o-2024-05-13 gpt-4.1-nano gpt-4.1-nano-2025-04-14 o1 o1-2024-12-17 o1-pro o1-pro-2025-03-19 "
        "o3-mini o3-mini-2025-01-31 o4-mini o4-mini-2025-04-16",
    },
    ("anthropic", "Anthropic"): {
        "2024-11-06": "claude-1.0 claude-1.1 claude-1.2 claude-1.3 claude-instant-1.0 claude-instant-1.1 "
        "claude-instant-1.2",
        "2025-07-21": "claude-2.0 claude-2.1 claude-3-sonnet-20240229",
        "2025-10-28": "claude-3-5-sonnet-20240620 claude-3-5-sonnet-20241022 claude-3-5-sonnet-latest",
        "2026-01-05": "claude-3-opus-20240229 claude-3-opus-latest",
        "2026-02-19": "claude-3-7-sonnet-20250219 claude-3-7-sonnet-latest claude-3-5-haiku-20241022 "
        "claude-3-5-haiku-latest",
        "2026-04-20": "claude-3-haiku-20240307",
        "2026-06-15": "claude-opus-4-20250514 claude-opus-4-0 claude-sonnet-4-20250514 claude-sonnet-4-0",
        "2026-08-05": "claude-opus-4-1 claude-opus-4-1-20250805",
    },
    ("google", "Google"): {
        "2025-09-24": "gemini-1.5-pro gemini-1.5-pro-002 gemini-1.5-flash gemini-1.5-flash-002 "
        "gemini-1.5-flash-8b gemini-1.5-flash-8b-001",
        "2025-12-02": "gemini-2.5-pro-preview-03-25 gemini-2.5-pro-preview-05-06 "
        "gemini-2.5-pro-preview-06-05",
        "2026-03-09": "gemini-3-pro-preview",
        "2026-06-01": "gemini-2.0-flash gemini-2.0-flash-001 gemini-2.0-flash-lite gemini-2.0-flash-lite-001",
    },
    ("mistral", "Mistral"): {
        "2025-11-30": "codestral-2501",
        "2025-12-31": "pixtral-12b-2409",
    },
    ("deepseek", "DeepSeek"): {"2026-07-24": "deepseek-chat deepseek-reasoner"},
}


def retirement_of(reference: ModelReference) -> Retirement | None:
    """Return when the provider retired the model; None if it did not, or another server has the model."""
    if reference.base_url is not None:
        return None
    return _retired().get((reference.provider, reference.model))


@lru_cache(maxsize=1)
def _retired() -> dict[tuple[str, str], Retirement]:
    return {
        (provider, name): Retirement(title, date)
        for (provider, title), dates in _TABLE.items()
        for date, names in dates.items()
        for name in names.split()
    }
