"""A place of the YAML, and what may stand there."""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

from promptls.text.span import Span

ITEM: Final = "-"
"""Stands in a path for an item of a list."""


class YamlPlace(NamedTuple):
    """What may stand at a place: a `key`, a `value`, or `text` inside a block scalar or quoted text.

    `path` leads to the mapping of a key, or to a value or text itself; `-` is a list item. `word` is
    what stands there already, left and right of the place. `column` is where the key begins, and
    `indent` how far its line is indented: they differ behind a dash. `is_first` says that the place
    is the beginning of the value, so that a list item or mapping could begin as well.
    """

    what: Literal["key", "value", "text"]
    path: tuple[str, ...]
    word: Span
    siblings: frozenset[str] = frozenset()
    column: int = 0
    indent: int = 0
    has_colon: bool = False
    needs_space: bool = False
    quote: str = ""
    in_flow: bool = False


def scalar_end(text: str, offset: int, quote: str, stops: str) -> int:
    """Where the scalar at a place ends: on the same line, before what could not belong to it."""
    line = re.compile(r"[^\n\r]*").match(text, offset)
    rest = line.group() if line else ""
    if quote:
        closing = rest.find(quote)
        return offset + (closing if closing >= 0 else len(rest.rstrip()))
    for index, character in enumerate(rest):
        if character in stops or (character == "#" and index and rest[index - 1] in " \t"):
            rest = rest[:index]
            break
    return offset + len(rest.rstrip())
