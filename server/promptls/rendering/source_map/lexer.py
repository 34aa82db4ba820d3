"""Jinja's lexer, with the place of each tag in the line numbers that it hands on.

Jinja carries line numbers from tokens to the nodes of its tree, and nothing else that says where
a node stands. A line number that knows its tag comes through all of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from jinja2.lexer import Lexer, newline_re


class PlacedLine(int):
    """A line number, from 1, that also knows the span of the tag or of the text that it is of."""

    span: list[int]
    """Offsets of the first character and of the one behind the last, of the text as Jinja reads it."""


_BEGINS: Final = frozenset({"variable_begin", "block_begin"})
_ENDS: Final = frozenset({"variable_end", "block_end"})


class PlacedLexer(Lexer):
    """The lexer of Jinja, whose line numbers are PlacedLines."""

    def tokeniter(
        self, source: str, name: str | None, filename: str | None = None, state: str | None = None
    ) -> Iterator[tuple[int, str, str]]:
        """The tokens as Jinja has them, each with a line number that knows its place."""
        text = "\n".join(newline_re.split(source)[::2])
        at = 0
        line = _placed(1, 0, 0)
        in_tag = False
        for number, token, value in super().tokeniter(source, name, filename, state):
            # Between two tokens there is nothing but the white space that a `-` takes away.
            start = text.find(value, at)
            at = start + len(value)
            if token in _BEGINS or not in_tag:
                line = _placed(number, start, at)
                in_tag = token in _BEGINS
            elif line != number:
                span, line = line.span, PlacedLine(number)
                line.span = span
            if token in _ENDS:
                stripped = len(value.rstrip())
                line.span[1] = start + stripped
                in_tag = False
            yield line, token, value


def _placed(number: int, start: int, end: int) -> PlacedLine:
    line = PlacedLine(number)
    line.span = [start, end]
    return line
