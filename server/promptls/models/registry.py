"""Models by name: `provider:model`, or a name that the project gives to one."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path

from promptls.models.editor_model import check_editor, is_editor_model
from promptls.models.keys import KeyMask, key_mask, key_of, key_remedy
from promptls.models.model import Model, ModelError
from promptls.models.pace import Pace
from promptls.models.providers import TABLE, Provider
from promptls.models.reference import ModelReference
from promptls.models.steady import SteadyModel
from promptls.models.weights import LOCAL_MODELS, SUFFIX, is_local_model, weights_file
from promptls.settings.project import ModelSettings
from promptls.text.failure import WrongUse
from promptls.text.nearest import nearest

PROVIDERS: dict[str, str] = {name: provider.summary for name, provider in TABLE.items()}
"""The providers, with what each is."""

__all__ = ["PROVIDERS", "ModelReference", "check_model", "find_model", "open_model", "opened_model"]


def find_model(
    name: str, models: Mapping[str, ModelSettings] | None = None, base: Path | None = None
) -> ModelReference:
    """The model that `name` means: one of the project's `models`, else `provider:model`.

    Paths of weights and of answers to replay are read from the folder `base`. Raises `WrongUse` with the
    nearest names for a model that is unknown. Nothing is opened or asked.
    """
    named = models or {}
    if name in named:
        return _of_project(name, named[name], base)
    provider, _, model = name.partition(":")
    if provider == "echo":
        return ModelReference(name, "echo", model or "echo")
    if provider == "vscode" and model and not is_editor_model(model):
        raise _unnamed(name)
    if provider in TABLE and model and (provider != "local" or is_local_model(model)):
        return ModelReference(name, provider, _located(provider, model, base))
    raise WrongUse(f"there is no model `{name}`", remedy=_known_models(name, named))


def open_model(
    reference: ModelReference,
    *,
    pace: Pace | None = None,
    mask: KeyMask | None = None,
    timeout: float | None = None,
    opened: Callable[[ModelReference], Model] | None = None,
) -> SteadyModel:
    """The model, ready to answer, with retries: an answer may take `timeout` seconds.

    `opened` opens it in another way than `opened_model`. Raises `ModelError` when its packages are not
    installed or its key is not in the environment.
    """
    return SteadyModel(
        (opened or opened_model)(reference),
        reference.name,
        pace=pace,
        mask=mask or key_mask([reference]),
        timeout=timeout,
    )


def opened_model(reference: ModelReference) -> Model:
    """The provider's own model, which is asked once for each call; raises `ModelError` as `open_model`."""
    route = TABLE[reference.provider].route
    if route == "echo":
        from promptls.models.echo import Echo

        return Echo(reference.name)
    if route == "local":
        from promptls.models.local import LocalModel

        return LocalModel(reference.model)
    if route == "replay":
        from promptls.models.replay import Replay

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
    """Raises `ModelError` when opening the model would; nothing is started or asked."""
    provider = TABLE[reference.provider]
    if provider.route == "local":
        weights_file(reference.model)
    elif provider.route == "replay":
        from promptls.models.replay import check_recording

        check_recording(Path(reference.model))
    elif provider.route == "editor":
        check_editor(reference.name)
    elif provider.route in {"chat", "library"}:
        _check_packages(reference, provider)
        key_of(reference)
        if provider.route == "chat":
            address_of(reference)


def address_of(reference: ModelReference) -> str:
    """Where a model of the `chat` route is asked; raises `ModelError` where nobody says it."""
    if reference.base_url is not None:
        return reference.base_url
    provider = TABLE[reference.provider]
    named = os.environ.get(provider.base_url_env, "").strip() if provider.base_url_env else ""
    if named and reference.provider == "azure":
        # The address of the resource alone, as Azure's own tools have it in this variable.
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
        raise WrongUse(f"there is no provider `{settings.provider}`", remedy=f"{remedy}; there are {known}")
    if settings.provider == "local" and not is_local_model(settings.model):
        known = ", ".join(f"`{model}`" for model in LOCAL_MODELS)
        raise WrongUse(
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
    )


def _unnamed(name: str) -> WrongUse:
    return WrongUse(
        f"the model `{name}` does not say its vendor and its family",
        remedy="write `vscode:<vendor>/<family>`, such as `vscode:copilot/gpt-4o`",
    )


def _located(provider: str, model: str, base: Path | None) -> str:
    """The provider's name of the model; a path is made absolute."""
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
