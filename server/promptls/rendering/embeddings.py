"""Embeddings of texts for `TopkRetriever`, where this machine has the package and the model."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import Any

from promptls.systems.opencompass.failure import OpenCompassError
from promptls.systems.opencompass.retriever import Embed

_models: dict[str, Any] = {}


def embedder() -> Embed | None:
    """What embeds texts with a sentence model that lies on this machine; None without the package."""
    return _embeddings if importlib.util.find_spec("sentence_transformers") else None


def _embeddings(texts: Sequence[str], model: str) -> Sequence[Sequence[float]]:
    """The embeddings; raises OpenCompassError where the model is not here, as nothing is fetched."""
    if model not in _models:
        from sentence_transformers import SentenceTransformer

        try:
            _models[model] = SentenceTransformer(model, local_files_only=True)
        except (OSError, ValueError) as error:
            raise OpenCompassError(
                f"The sentence model `{model}` is not on this machine, and promptls fetches none.",
                cause="OSError",
                is_opencompass=False,
                at=("retriever", "type"),
            ) from error
    embeddings: Sequence[Sequence[float]] = _models[model].encode(list(texts), show_progress_bar=False)
    return embeddings
