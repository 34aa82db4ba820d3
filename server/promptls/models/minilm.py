"""`all-MiniLM-L6-v2` as an embedding model of runs: it runs on this machine out of an installed package."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from promptls.embeddings.minilm import HOW_TO_INSTALL, embedded, is_installed
from promptls.models.model import Embeddings, ModelError


class MiniLm:
    """The model; its weights are read at the first request."""

    async def embed(self, texts: Sequence[str]) -> Embeddings:
        """The vectors of `texts`, with 384 numbers each."""
        began = time.perf_counter()
        vectors, tokens = await asyncio.to_thread(embedded, texts)
        return Embeddings(vectors, tokens, time.perf_counter() - began)

    async def close(self) -> None:
        """The weights stay for the next one: another run in this process would read them again."""


def check_installed() -> None:
    """Raises `ModelError` with what to install where the model is not there; nothing is loaded."""
    if not is_installed():
        raise ModelError("the embedding model `local:all-minilm-l6-v2` is not installed", HOW_TO_INSTALL)
