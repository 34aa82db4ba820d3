"""Texts of a Python configuration that know which of its expressions they come from."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, NamedTuple

from promptls.conversions.python_symbol import Symbol


class TextPiece(NamedTuple):
    """A stretch of a text and the expression that wrote it, None where that is not known.

    The expression wrote `whole`, of which the stretch begins at `start`. Of a value that only running would
    tell, `text` is its source, and `is_symbol`.
    """

    text: str
    node: ast.expr | ast.keyword | None = None
    whole: str = ""
    start: int = 0
    is_symbol: bool = False


class PlacedText(str):
    """A text with its pieces, which together are the text."""

    __slots__ = ("pieces",)

    pieces: tuple[TextPiece, ...]

    @classmethod
    def of(cls, pieces: Sequence[TextPiece]) -> PlacedText:
        """The text that pieces without symbols make."""
        made = cls("".join(piece.text for piece in pieces))
        made.pieces = tuple(pieces)
        return made

    def __deepcopy__(self, _memo: object) -> PlacedText:
        """The text itself: its expressions are not copied with the values of a configuration."""
        return self


class MixedText(Symbol):
    """A text of which some pieces are known, and others are symbols."""

    __slots__ = ("pieces",)

    pieces: tuple[TextPiece, ...]

    @classmethod
    def of(cls, pieces: Sequence[TextPiece]) -> MixedText:
        """The text that pieces make."""
        made = cls("".join(piece.text for piece in pieces))
        object.__setattr__(made, "pieces", tuple(pieces))
        return made

    def __deepcopy__(self, _memo: object) -> MixedText:
        """The text itself, as above."""
        return self


def placed(text: str, node: ast.expr | ast.keyword) -> PlacedText:
    """The text of a literal, or of the name of an argument."""
    return PlacedText.of([TextPiece(text, node, text)])


def placed_together(values: Sequence[Any]) -> PlacedText | MixedText:
    """The text that values make one behind the other."""
    pieces = [piece for value in values for piece in pieces_of(value)]
    known = not any(piece.is_symbol for piece in pieces)
    return PlacedText.of(pieces) if known else MixedText.of(pieces)


def placed_part(text: str, made: str) -> str:
    """What a method that cuts off the ends of a text has made of it."""
    if not isinstance(text, PlacedText) or not made:
        return made
    start = text.index(made)
    cut, begin = [], 0
    for piece in text.pieces:
        first, last = max(start - begin, 0), min(start + len(made) - begin, len(piece.text))
        if first < last:
            cut.append(piece._replace(text=piece.text[first:last], start=piece.start + first))
        begin += len(piece.text)
    return PlacedText.of(cut)


def pieces_of(value: Any) -> tuple[TextPiece, ...]:
    """The pieces that a value is as a text."""
    if isinstance(value, PlacedText | MixedText):
        return value.pieces
    return (TextPiece(str(value), is_symbol=isinstance(value, Symbol)),)
