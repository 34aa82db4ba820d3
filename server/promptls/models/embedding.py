"""Embedding models for runs: the local model `all-MiniLM-L6-v2`, and retries for all models."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from promptls.embeddings.minilm import HOW_TO_INSTALL, embedded, is_installed
from promptls.models.keys import KeyMask
from promptls.models.model import EmbeddingModel, Embeddings, ModelError, ModelReference
from promptls.models.providers import TABLE
from promptls.models.registry import check_model, find_model, opened_model
from promptls.models.steady import Pace, Steadily
from promptls.settings.project import ModelSettings


class MiniLm:
    """The local model; its weights are loaded on the first request."""

    async def embed(self, texts: Sequence[str]) -> Embeddings:
        """Return the 384-dimensional vectors of `texts`."""
        began = time.perf_counter()
        vectors, tokens = await asyncio.to_thread(embedded, texts)
        return Embeddings(vectors, tokens, time.perf_counter() - began)

    async def close(self) -> None:
        """Do nothing; the weights stay loaded for further runs in this process."""


def check_installed() -> None:
    """Raise `ModelError` with the package to install if the model is missing; nothing is loaded."""
    if not is_installed():
        raise ModelError("the embedding model `local:all-minilm-l6-v2` is not installed", HOW_TO_INSTALL)


MINILM: Final = "all-minilm-l6-v2"
LOCAL_EMBEDDINGS: Final = f"local:{MINILM}"
"""The default embedding model."""


class SteadyEmbeddings:
    """Calls `model` within its rate limit, and retries after temporary failures."""

    def __init__(self, model: EmbeddingModel, steadily: Steadily) -> None:
        self._model = model
        self._steadily = steadily

    async def embed(self, texts: Sequence[str], before: Callable[[], None] | None = None) -> Embeddings:
        """Return the vectors of `texts`; raises `ModelError` if the last attempt fails.

        `before` is called once, immediately before the first request is sent.
        """
        about = sum(map(len, texts)) // 4
        return await self._steadily.ask(lambda: self._model.embed(texts), about, before)

    async def close(self) -> None:
        """Free the model's memory."""
        await self._model.close()


def find_embeddings(
    name: str | None, models: Mapping[str, ModelSettings] | None = None, base: Path | None = None
) -> ModelReference:
    """Resolve `name` to a model, by default the local one; raises `UsageError`."""
    if name is None or name == LOCAL_EMBEDDINGS:
        return ModelReference(LOCAL_EMBEDDINGS, "local", MINILM)
    return find_model(name, models, base)


def check_embeddings(reference: ModelReference) -> None:
    """Raise `ModelError` if the model does not support embeddings or cannot be opened; nothing is sent."""
    if reference.model == MINILM and reference.provider == "local":
        check_installed()
        return
    if TABLE[reference.provider].route != "chat":
        raise ModelError(
            f"`{reference.name}` makes no embeddings",
            f"name `{LOCAL_EMBEDDINGS}`, or a model of an OpenAI-compatible provider, such as "
            "`openai:text-embedding-3-small`",
        )
    check_model(reference)


def open_embeddings(
    reference: ModelReference,
    *,
    pace: Pace | None,
    mask: KeyMask,
    timeout: float | None,
    opened: EmbeddingModel | None = None,
) -> SteadyEmbeddings:
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
    return SteadyEmbeddings(model, Steadily(reference.name, pace=pace, mask=mask, timeout=timeout))
