"""Opening models and embedding models by name, and trying whether they answer."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from promptls.embeddings.minilm import HOW_TO_INSTALL, embed_texts, is_installed
from promptls.models import keys
from promptls.models.editor_model import EditorModel, check_editor
from promptls.models.local import LocalModel
from promptls.models.masking import KeyMask, key_mask, url_without_secrets
from promptls.models.model import EmbeddingModel, EmbeddingResult, Model, ModelError, ModelReference
from promptls.models.model_names import LOCAL_EMBEDDINGS, MINILM
from promptls.models.providers import MILLION, TABLE, Provider, price_of
from promptls.models.retrying import CHARACTERS_A_TOKEN, RateLimiter, Retrier, RetryingModel
from promptls.models.weights import weights_file
from promptls.text.errors import UserError
from promptls.text.format import plural


def open_model(
    reference: ModelReference,
    *,
    rate_limiter: RateLimiter | None = None,
    mask: KeyMask | None = None,
    timeout: float | None = None,
    opened: Callable[[ModelReference], Model] | None = None,
) -> RetryingModel:
    """Open the model, with rate limiting and retries; an answer may take `timeout` seconds.

    `opened` replaces `opened_model`. Raises `ModelError` if its packages are not
    installed or its key is not set in the environment.
    """
    return RetryingModel(
        (opened or opened_model)(reference),
        reference.name,
        rate_limiter=rate_limiter,
        mask=mask or key_mask([reference]),
        timeout=timeout,
    )


def opened_model(reference: ModelReference) -> Model:
    """Open the provider's model, without retries.

    Raises `ModelError` as `open_model` does, and NotAllowedError if its key may not be sent to its server.
    """
    keys.check_grants(reference)
    route = TABLE[reference.provider].route
    if route == "echo":
        from promptls.models.testing import Echo

        return Echo(reference.name)
    if route == "local":
        return LocalModel(reference.model)
    if route == "replay":
        from promptls.models.testing import Replay

        return Replay(reference.name, Path(reference.model))
    if route == "editor":
        return EditorModel(reference.name, reference.model)
    if route == "library":
        from promptls.models.pydantic_ai_model import PydanticAiModel

        return PydanticAiModel(reference, keys.key_of(reference))
    from promptls.models.openai_compatible import OpenAiCompatible

    return OpenAiCompatible(
        reference.model,
        base_url=address_of(reference),
        key=keys.key_of(reference),
        provider=reference.provider,
        key_remedy=keys.key_remedy(reference),
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
        if keys.is_allowed(reference):
            keys.key_of(reference)
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
        f"the address of `{reference.name}` is unknown",
        f"set the environment variable `{provider.base_url_env}`, or `base_url` in `promptls.toml`",
    )


def _check_packages(reference: ModelReference, provider: Provider) -> None:
    needed = ("httpx",) if provider.route == "chat" else ("pydantic_ai", *provider.packages)
    for package in needed:
        parent = package.partition(".")[0]
        if find_spec(parent) is None or (parent != package and find_spec(package) is None):
            extra = "remote" if provider.route == "chat" else "providers"
            remedy = f'run `pip install "promptls[{extra}]"`'
            if extra == "providers" and sys.version_info < (3, 11):
                remedy = f"use Python 3.11 or later, and {remedy}"
            raise ModelError(f"the model `{reference.name}` needs the package `{package}`", remedy)


QUESTION = [{"role": "user", "content": "Answer with the one word: yes"}]

# Token limit of its answer, and timeout in seconds.
ANSWER_TOKENS = 16
PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class ModelState:
    """The state of a model; `problem` and `remedy` explain why it is unavailable, and contain no secrets.

    Prices are in US dollars per million tokens. `answer`, `seconds` and token counts are those of a trial.
    """

    name: str
    provider: str
    model: str
    base_url: str | None
    key: str | None
    """The environment variable of the key; None if no key is needed."""
    ready: bool
    problem: str | None = None
    remedy: str | None = None
    input_price: float | None = None
    output_price: float | None = None
    cached_input_price: float | None = None
    answer: str | None = None
    seconds: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


def state_of(reference: ModelReference) -> ModelState:
    """Return the state of the model without sending a request."""
    problem: UserError | None = None
    try:
        check_model(reference)
        keys.check_grants(reference)
    except (ModelError, keys.NotAllowedError) as error:
        problem = error
    provider = TABLE[reference.provider]
    address = reference.base_url
    if provider.route == "library" and address is None:
        destination = keys.destination_of(reference)
        address = destination.host if destination is not None else None
    if provider.route == "chat" and address is None:
        try:
            address = address_of(reference)
        except ModelError:
            address = None
    price = price_of(reference)
    return ModelState(
        name=reference.name,
        provider=reference.provider,
        model=reference.model,
        base_url=None if address is None else url_without_secrets(address),
        key=_key_variable(reference),
        ready=problem is None,
        problem=None if problem is None else problem.message,
        remedy=None if problem is None else problem.remedy,
        input_price=None if price.input is None else price.input * MILLION,
        output_price=None if price.output is None else price.output * MILLION,
        cached_input_price=None if price.cached is None else price.cached * MILLION,
    )


async def try_model(reference: ModelReference) -> ModelState:
    """Return the state of the model after a minimal test request."""
    state = state_of(reference)
    if not state.ready:
        return state
    model = None
    try:
        model = open_model(reference, timeout=PATIENCE)
        parameters = {**reference.parameters, "max_tokens": ANSWER_TOKENS}
        answer = await asyncio.wait_for(
            model.complete(QUESTION, parameters=parameters, json_schema=None), 2 * PATIENCE
        )
    except ModelError as error:
        return replace(state, ready=False, problem=error.message, remedy=error.remedy)
    except asyncio.TimeoutError:
        return replace(state, ready=False, problem=f"no answer within {plural(2 * PATIENCE, 'second')}")
    finally:
        if model is not None:
            await model.close()
    return replace(
        state,
        answer=answer.text,
        seconds=answer.seconds,
        input_tokens=answer.input_tokens,
        output_tokens=answer.output_tokens,
    )


def _key_variable(reference: ModelReference) -> str | None:
    if reference.api_key_env is not None:
        return reference.api_key_env
    provider = TABLE[reference.provider]
    if reference.base_url is not None or not provider.key_envs:
        return None
    try:
        there = keys.key_of(reference) is not None
    except ModelError:
        return provider.key_envs[0]
    return provider.key_envs[0] if there or provider.needs_key else None


class MiniLm:
    """The local model; its weights are loaded on the first request."""

    async def embed(self, texts: Sequence[str]) -> EmbeddingResult:
        """Return the 384-dimensional vectors of `texts`."""
        began = time.perf_counter()
        vectors, tokens = await asyncio.to_thread(embed_texts, texts)
        return EmbeddingResult(vectors, tokens, time.perf_counter() - began)

    async def close(self) -> None:
        """Do nothing; the weights stay loaded for further runs in this process."""


class RetryingEmbeddings:
    """Calls `model` within its rate limit, and retries after temporary failures."""

    def __init__(self, model: EmbeddingModel, retrier: Retrier) -> None:
        self._model = model
        self._retrier = retrier

    async def embed(self, texts: Sequence[str], before: Callable[[], None] | None = None) -> EmbeddingResult:
        """Return the vectors of `texts`; raises `ModelError` if the last attempt fails.

        `before` is called once, immediately before the first request is sent.
        """
        about = sum(map(len, texts)) // CHARACTERS_A_TOKEN
        return await self._retrier.ask(lambda: self._model.embed(texts), about, before)

    async def close(self) -> None:
        """Free the model's memory."""
        await self._model.close()


def check_embeddings(reference: ModelReference) -> None:
    """Raise `ModelError` if the model does not support embeddings or cannot be opened; nothing is sent."""
    if reference.model == MINILM and reference.provider == "local":
        if not is_installed():
            raise ModelError(f"the embedding model `{LOCAL_EMBEDDINGS}` is not installed", HOW_TO_INSTALL)
        return
    if TABLE[reference.provider].route != "chat":
        raise ModelError(
            f"`{reference.name}` is not an embedding model",
            f"name `{LOCAL_EMBEDDINGS}`, or a model of an OpenAI-compatible provider, such as "
            "`openai:text-embedding-3-small`",
        )
    check_model(reference)


def open_embeddings(
    reference: ModelReference,
    *,
    rate_limiter: RateLimiter | None,
    mask: KeyMask,
    timeout: float | None,
    opened: EmbeddingModel | None = None,
) -> RetryingEmbeddings:
    """Open the model, with retries; raises `ModelError` as `check_embeddings` does.

    If `opened` is passed, that model is used instead.
    """
    check_embeddings(reference)
    model: EmbeddingModel
    if opened is not None:
        model = opened
    elif reference.provider == "local":
        model = MiniLm()
    else:
        from promptls.models.openai_compatible import OpenAiCompatible

        made = opened_model(reference)
        assert isinstance(made, OpenAiCompatible)
        model = made
    return RetryingEmbeddings(
        model, Retrier(reference.name, rate_limiter=rate_limiter, mask=mask, timeout=timeout)
    )
