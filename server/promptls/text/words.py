"""The word at a place of a text, found without a look at the rest of it."""

from __future__ import annotations

import re
from typing import Final

from promptls.text.span import Span

_END: Final = re.compile(r"\w*")
_MOST: Final = 1000
"""Longer than this no word is that anybody means."""


def word_at(text: str, offset: int) -> Span | None:
    """The letters, digits and `_` around `offset`, or that end there; None where there are none."""
    start = offset
    while start > 0 and offset - start < _MOST and (text[start - 1].isalnum() or text[start - 1] == "_"):
        start -= 1
    match = _END.match(text, offset, min(offset + _MOST, len(text)))
    end = match.end() if match is not None else offset
    return Span(start, end) if end > start else None
