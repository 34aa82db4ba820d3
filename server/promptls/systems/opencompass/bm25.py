"""The training rows whose words are nearest, as OpenCompass finds them with NLTK and rank-bm25."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from promptls.systems.opencompass.failure import OpenCompassError


def nearest_by_words(
    texts: Sequence[str], asked: Callable[[int], str], count: Any
) -> Callable[[int], list[int]]:
    """For the row of an index, whose text `asked` gives, the `count` nearest of `texts`, by index.

    Raises OpenCompassError where the packages of the extra `opencompass` are missing.
    """
    try:
        import numpy as np
        from rank_bm25 import BM25Okapi
    except ImportError as error:
        raise _missing(error.name or "rank-bm25") from error
    if not texts:
        raise OpenCompassError(
            "`BM25Retriever` has no training rows to choose from.",
            cause="ZeroDivisionError",
            at=("retriever",),
        )
    bm25 = BM25Okapi([words(text) for text in texts])

    def pick(index: int) -> list[int]:
        scores = bm25.get_scores(words(asked(index)))
        return [int(row) for row in np.argsort(scores)[::-1][:count]]

    return pick


def words(text: str) -> list[str]:
    """The words of a text by NLTK; without its data for sentences, the text is one sentence.

    Then only a full stop within the text stays with its word.
    """
    try:
        from nltk.tokenize import word_tokenize
    except ImportError as error:
        raise _missing("nltk") from error
    try:
        found: list[str] = word_tokenize(text)
    except LookupError:
        found = word_tokenize(text, preserve_line=True)
    return found


def _missing(package: str) -> OpenCompassError:
    return OpenCompassError(
        f"`BM25Retriever` needs the package `{package}`: install `promptls[opencompass]`.",
        cause="ModuleNotFoundError",
        is_opencompass=False,
        at=("retriever", "type"),
    )
