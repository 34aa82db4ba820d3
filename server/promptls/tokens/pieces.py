"""The tokens of a text, one by one."""

from __future__ import annotations

from itertools import accumulate
from typing import Final, NamedTuple

from promptls.tokens.encodings import load

MOST_CHARACTERS: Final = 400_000
"""How many characters of a text are cut into tokens; nobody looks at more of them one by one."""


class Pieces(NamedTuple):
    """The tokens of a text: their ids, and where each begins, in UTF-16 code units.

    Tokens that share a character begin at the same place.
    """

    ids: list[int]
    starts: list[int]


def pieces(text: str, encoding: str) -> Pieces:
    """The tokens of the first 400,000 characters of `text`; words of special tokens count as text.

    Raises UnknownEncodingError, or VocabularyError.
    """
    shown = text[:MOST_CHARACTERS]
    loaded = load(encoding)
    ids = loaded.encode_ordinary(shown)
    _, starts = loaded.decode_with_offsets(ids)
    units = [0, *accumulate(1 + (character > "\uffff") for character in shown)]
    return Pieces(ids, [units[start] for start in starts])
