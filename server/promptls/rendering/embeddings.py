"""The sentence model that retrievers compare rows by: the asked one, or the small one of a package."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

from promptls.embeddings import minilm
from promptls.systems.opencompass.nearest import SentenceModel, Vectors

# Texts whose vectors are kept, some 2 kB each: training rows are the same at the next rendering.
_KEPT: Final = 50_000
_known: dict[tuple[str, str], Any] = {}


def sentence_model(asked: str) -> SentenceModel | None:
    """The model called `asked` where it lies on this machine, else the small one; None without either.

    Nothing is fetched.
    """
    is_small = asked.rsplit("/", 1)[-1].lower() == minilm.NAME.lower()
    if (found := _loaded(asked)) is not None:
        return _keeping(asked, lambda texts: found.encode(list(texts), show_progress_bar=False))
    if minilm.is_installed():
        return _keeping(asked if is_small else minilm.NAME, lambda texts: minilm.embedded(texts)[0])
    return None


def _keeping(name: str, embed: Callable[[Sequence[str]], Any]) -> SentenceModel:
    """The model of this name, which embeds each text once."""

    def vectors(texts: Sequence[str]) -> Vectors:
        import numpy as np

        missing = [text for text in dict.fromkeys(texts) if (name, text) not in _known]
        if missing:
            if len(_known) + len(missing) > _KEPT:
                _known.clear()
                missing = list(dict.fromkeys(texts))
            made = np.asarray(embed(missing), dtype="<f4")
            _known.update(((name, text), vector) for text, vector in zip(missing, made, strict=True))
        return [_known[name, text] for text in texts]

    return SentenceModel(name, vectors)


@lru_cache(maxsize=2)
def _loaded(name: str) -> Any:
    """The model by the package `sentence-transformers`; None where one of them is not here."""
    if importlib.util.find_spec("sentence_transformers") is None:
        return None
    from sentence_transformers import SentenceTransformer

    try:
        return SentenceTransformer(name, local_files_only=True)
    except (OSError, ValueError):
        return None
