"""How a program counts tokens: with a named encoding, or with a function of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Final, TypeAlias

from promptls.systems.prompt_poet.failure import PromptPoetError

Encode: TypeAlias = Callable[[str], Sequence[int]]
"""A text's token ids, as Prompt Poet's `encode_func` gives them."""

Count: TypeAlias = Callable[[str], int]
"""How many tokens a text has; raises ValueError for one that cannot be encoded."""

KEPT_COUNTS: Final = 2_000
"""How many texts of a function of one's own are remembered with their counts."""


def counter(encoding: str | Encode) -> Count:
    """What counts in an encoding or a model's encoding by name, or with a function.

    The same text is not encoded twice. Raises PromptPoetError of kind `tokens` for an unknown name,
    and for what is neither a name nor a function.
    """
    if isinstance(encoding, str):
        from promptls.tokens.encodings import UnknownEncodingError, encoding_name

        try:
            return partial(_count, encoding_name(encoding))
        except UnknownEncodingError as error:
            raise PromptPoetError("tokens", str(error)) from error
    given: object = encoding
    if not callable(given):
        kind = type(given).__name__
        raise PromptPoetError(
            "tokens",
            f"`encoding` is of type {kind}: pass an encoding's or a model's name, or a function from a text "
            "to its token ids, such as the `encode` method of a tokenizer.",
            cause="TypeError",
        )
    return lru_cache(KEPT_COUNTS)(partial(_length, encoding))


def _count(encoding: str, text: str) -> int:
    """The tokens of a text in a named encoding; raises ValueError, or PromptPoetError without vocabulary."""
    from promptls.tokens.counting import count_strictly
    from promptls.tokens.vocabularies import VocabularyError

    try:
        return count_strictly(text, encoding)
    except VocabularyError as error:
        raise PromptPoetError("tokens", str(error), cause="VocabularyError") from error


def _length(encode: Encode, text: str) -> int:
    return len(encode(text))
