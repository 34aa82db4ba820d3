"""Models by name: `provider:model`, or a name defined in the project."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path

from promptls.models.editor_model import check_editor, is_editor_model
from promptls.models.keys import KeyMask, check_grants, is_allowed, key_mask, key_of, key_remedy
from promptls.models.local import LOCAL_MODELS, SUFFIX, is_local_model, weights_file
from promptls.models.model import Model, ModelError, ModelReference
from promptls.models.providers import TABLE, Provider
from promptls.models.steady import Pace, SteadyModel
from promptls.settings.project import ModelSettings
from promptls.text.errors import UsageError
from promptls.text.suggest import nearest

PROVIDERS: dict[str, str] = {name: provider.summary for name, provider in TABLE.items()}
"""The providers, with a description of each."""

__all__ = ["PROVIDERS", "ModelReference", "check_model", "find_model", "open_model", "opened_model"]


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
        return ModelReference(name, provider, _located(provider, model, base))
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


def open_model(
    reference: ModelReference,
    *,
    pace: Pace | None = None,
    mask: KeyMask | None = None,
    timeout: float | None = None,
    opened: Callable[[ModelReference], Model] | None = None,
) -> SteadyModel:
    """Open the model, with rate limiting and retries; an answer may take `timeout` seconds.

    `opened` replaces `opened_model`. Raises `ModelError` if its packages are not
    installed or its key is not set in the environment.
    """
    return SteadyModel(
        (opened or opened_model)(reference),
        reference.name,
        pace=pace,
        mask=mask or key_mask([reference]),
        timeout=timeout,
    )


def opened_model(reference: ModelReference) -> Model:
    """Open the provider's model, without retries.

    Raises `ModelError` as `open_model` does, and NotAllowedError if its key may not be sent to its server.
    """
    check_grants(reference)
    route = TABLE[reference.provider].route
    if route == "echo":
        from promptls.models.testing import Echo

        return Echo(reference.name)
    if route == "local":
        from promptls.models.local import LocalModel

        return LocalModel(reference.model)
    if route == "replay":
        from promptls.models.testing import Replay

        return Replay(reference.name, Path(reference.model))
    if route == "editor":
        from promptls.models.editor_model import EditorModel

        return EditorModel(reference.name, reference.model)
    if route == "library":
        from promptls.models.pydantic_ai_model import PydanticAiModel

        return PydanticAiModel(reference, key_of(reference))
    from promptls.models.openai_compatible import OpenAiCompatible

    return OpenAiCompatible(
        reference.model,
        base_url=address_of(reference),
        key=key_of(reference),
        provider=reference.provider,
        key_remedy=key_remedy(reference),
    )


def check_model(reference: ModelReference) -> None:
    """Raise `ModelError` if opening the model would fail; nothing is started or sent.

    The key is not checked while sending it is not allowed; the plan reports that.
    """
    provider = TABLE[reference.provider]
    if provider.route == "local":
        weights_file(reference.model)
    elif provider.route == "replay":
        from promptls.models.testing import check_recording

        check_recording(Path(reference.model))
    elif provider.route == "editor":
        check_editor(reference.name)
    elif provider.route in {"chat", "library"}:
        _check_packages(reference, provider)
        if is_allowed(reference):
            key_of(reference)
        if provider.route == "chat":
            address_of(reference)


def address_of(reference: ModelReference) -> str:
    """Return the address of a `chat` model; raises `ModelError` if it is not configured."""
    if reference.base_url is not None:
        return reference.base_url
    provider = TABLE[reference.provider]
    named = os.environ.get(provider.base_url_env, "").strip() if provider.base_url_env else ""
    if named and reference.provider == "azure":
        # Azure's tools store only the address of the resource in this variable.
        named = named.rstrip("/")
        return named if named.endswith("/v1") else f"{named}/openai/v1"
    if named or provider.base_url:
        return named or str(provider.base_url)
    raise ModelError(
        f"nobody says where `{reference.name}` is",
        f"set the environment variable `{provider.base_url_env}`, or `base_url` in `promptls.toml`",
    )


def _check_packages(reference: ModelReference, provider: Provider) -> None:
    needed = ("httpx",) if provider.route == "chat" else ("pydantic_ai", *provider.packages)
    for package in needed:
        parent = package.partition(".")[0]
        if find_spec(parent) is None or (parent != package and find_spec(package) is None):
            extra = "remote" if provider.route == "chat" else "providers"
            raise ModelError(
                f"the model `{reference.name}` needs the package `{package}`",
                f'run `pip install "promptls[{extra}]"`',
            )


def _of_project(name: str, settings: ModelSettings, base: Path | None) -> ModelReference:
    remedy = f"correct the provider of `models.{name}` in the project's settings"
    if settings.provider not in TABLE:
        known = ", ".join(f"`{provider}`" for provider in TABLE)
        raise UsageError(f"there is no provider `{settings.provider}`", remedy=f"{remedy}; there are {known}")
    if settings.provider == "local" and not is_local_model(settings.model):
        known = ", ".join(f"`{model}`" for model in LOCAL_MODELS)
        raise UsageError(
            f"there is no local model `{settings.model}`",
            remedy=f"set `model` to one of {known}, or to a file that ends in `{SUFFIX}`",
        )
    if settings.provider == "vscode" and not is_editor_model(settings.model):
        raise _unnamed(name)
    return ModelReference(
        name,
        settings.provider,
        _located(settings.provider, settings.model, base),
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


def _located(provider: str, model: str, base: Path | None) -> str:
    """Return the provider's name of the model; paths are made absolute."""
    is_path = provider == "replay" or (provider == "local" and model.lower().endswith(SUFFIX))
    if not is_path or base is None:
        return model
    return str((base / Path(model).expanduser()).absolute())


def _known_models(name: str, named: Mapping[str, ModelSettings]) -> str:
    known = [*named, *(f"local:{model}" for model in LOCAL_MODELS), "echo"]
    near = nearest(name, known)
    listed = ", ".join(f"`{model}`" for model in known)
    hint = f"did you mean `{near}`? " if near else ""
    providers = ", ".join(f"`{provider}:`" for provider in TABLE if provider not in {"local", "echo"})
    return f"{hint}there are {listed}, models behind {providers}, and what `models` in `promptls.toml` names"
