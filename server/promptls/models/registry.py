"""Models by name: `provider:model`, or a name that the project gives to one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from promptls.models.model import Model, ModelError
from promptls.models.weights import LOCAL_MODELS, weights_file
from promptls.settings.project import ModelSettings
from promptls.text.failure import WrongUse
from promptls.text.nearest import nearest

PROVIDERS: dict[str, str] = {
    "local": "a model on this machine, out of a package: `local:smollm2`",
    "openai": "OpenAI, or any server that speaks its protocol at a `base_url`",
    "echo": "answers with the last message, for tests",
}
"""The providers, with what each is."""


@dataclass(frozen=True, slots=True)
class ModelReference:
    """A known model that is not yet opened; it holds no key, only the name of the key's variable."""

    name: str
    provider: str
    model: str
    base_url: str | None = None
    api_key_env: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    input_price: float | None = None
    output_price: float | None = None


def find_model(name: str, models: Mapping[str, ModelSettings] | None = None) -> ModelReference:
    """The model that `name` means: one of the project's `models`, else `provider:model`.

    Raises `WrongUse` with the nearest names for one that is unknown. Nothing is opened or asked.
    """
    named = models or {}
    if name in named:
        return _of_project(name, named[name])
    provider, _, model = name.partition(":")
    if provider == "echo":
        return ModelReference(name, "echo", model or "echo")
    if provider == "local" and model in LOCAL_MODELS:
        return ModelReference(name, "local", model)
    if provider == "openai" and model:
        return ModelReference(name, "openai", model)
    raise WrongUse(f"there is no model `{name}`", remedy=_known_models(name, named))


def open_model(reference: ModelReference) -> Model:
    """The model, ready to answer.

    Raises `ModelError` when its packages are not installed or its key is not in the environment.
    """
    if reference.provider == "echo":
        from promptls.models.echo import Echo

        return Echo(reference.name)
    if reference.provider == "local":
        from promptls.models.local import LocalModel

        return LocalModel(reference.model)
    from promptls.models.openai_compatible import OPENAI_URL, OpenAiCompatible

    return OpenAiCompatible(
        reference.model, base_url=reference.base_url or OPENAI_URL, key=_api_key(reference)
    )


def check_model(reference: ModelReference) -> None:
    """Raises `ModelError` when opening the model would; nothing is started or asked."""
    if reference.provider == "local":
        weights_file(reference.model)
    elif reference.provider == "openai":
        if find_spec("httpx") is None:
            raise ModelError(
                f"the model `{reference.name}` needs the package `httpx`",
                'run `pip install "promptls[remote]"`',
            )
        _api_key(reference)


def _of_project(name: str, settings: ModelSettings) -> ModelReference:
    remedy = f"correct the provider of `models.{name}` in the project's settings"
    if settings.provider not in PROVIDERS:
        known = ", ".join(f"`{provider}`" for provider in PROVIDERS)
        raise WrongUse(f"there is no provider `{settings.provider}`", remedy=f"{remedy}; there are {known}")
    if settings.provider == "local" and settings.model not in LOCAL_MODELS:
        known = ", ".join(f"`{model}`" for model in LOCAL_MODELS)
        raise WrongUse(f"there is no local model `{settings.model}`", remedy=f"set `model` to one of {known}")
    return ModelReference(
        name,
        settings.provider,
        settings.model,
        settings.base_url,
        settings.api_key_env,
        dict(settings.parameters),
        settings.input_price,
        settings.output_price,
    )


def _api_key(reference: ModelReference) -> str | None:
    """The key out of the environment; None for a server of one's own that names no variable."""
    from promptls.models.openai_compatible import OPENAI_KEY_ENV

    variable = reference.api_key_env or (None if reference.base_url else OPENAI_KEY_ENV)
    if variable is None:
        return None
    key = os.environ.get(variable, "").strip()
    if not key:
        raise ModelError(
            f"the model `{reference.name}` needs a key, and the environment variable `{variable}` is not set",
            f"run `export {variable}=…` in the shell that starts promptls",
        )
    return key


def _known_models(name: str, named: Mapping[str, ModelSettings]) -> str:
    known = [*named, *(f"local:{model}" for model in LOCAL_MODELS), "echo"]
    near = nearest(name, known)
    listed = ", ".join(f"`{model}`" for model in known)
    hint = f"did you mean `{near}`? " if near else ""
    return f"{hint}there are {listed}, `openai:<model>`, and what `models` in `promptls.toml` names"
