"""Names of models and of embedding models: what they refer to, and which are known."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

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
        known = in_code(LOCAL_MODELS)
        raise UsageError(
            f"there is no local model `{settings.model}`",
            remedy=f"set `model` to one of {known}, or to a file that ends in `{SUFFIX}`",
        )
    if settings.provider == "vscode" and not is_editor_model(settings.model):
        raise _unnamed(name)
    return ModelReference(
        name,
        settings.provider,
        _locate(settings.provider, settings.model, base),
        settings.base_url,
        settings.api_key_env,
        dict(settings.parameters),
        settings.input_price,
        settings.output_price,
        settings.cached_input_price,
        from_project=True,
    )


def _unnamed(name: str) -> UsageError:
    return UsageError(
        f"the model `{name}` does not say its vendor and its family",
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
    return f"{hint}there are {listed}, models behind {providers}, and what `models` in `promptls.toml` names"
