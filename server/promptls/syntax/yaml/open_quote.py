"""A quote that is never closed, found from the error behind the next one, which YAML takes for its end."""

from __future__ import annotations

import re
from typing import Final

_BEGINS: Final = re.compile(r"(?:(?:^|[\r\n])[ \t]*|[:,\-?][ \t]+|[\[{][ \t]*)\Z")
"""What stands ahead of a quote that opens a value."""
_MOST: Final = 10_000
"""How many characters ahead of an error the quote is looked for."""
_MOST_INDENT: Final = 200
"""How many blanks may stand ahead of a quote."""


def quote_opened_above(text: str, offset: int) -> int | None:
    """Where the quote stands that was left open on a line above an error at `offset`; None where none was.

    The quote right ahead of the error was to open a value, and closed that one instead.
    """
    start = max(offset - _MOST, 0)
    closing = len(text[start:offset].rstrip(" \t")) + start - 1
    quote = text[closing : closing + 1] if closing >= start else ""
    if quote not in {'"', "'"} or not _is_opening(text, closing):
        return None
    opening = text.rfind(quote, start, closing)
    while quote == '"' and opening > start and text[opening - 1] == "\\":
        opening = text.rfind(quote, start, opening)
    if opening < 0 or "\n" not in text[opening:closing] or not _is_opening(text, opening):
        return None
    return opening


def _is_opening(text: str, place: int) -> bool:
    """Whether a quote at a place stands where a value begins."""
    return _BEGINS.search(text, max(place - _MOST_INDENT, 0), place) is not None
