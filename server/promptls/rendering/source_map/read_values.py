"""The functions that compiled templates call for the values they print and the data they read.

A value that is read gets the same piece as if it were printed directly, and values derived from it retain
that piece.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from promptls.rendering.source_map.mapped_text import (
    MappedMarkup,
    MappedText,
    as_text,
    concatenated,
    percent_leaves,
)
from promptls.rendering.source_map.pieces import (
    Iteration,
    Leaf,
    ListItem,
    Outer,
    Piece,
    SourceFile,
    untraced_leaf,
    within,
)

_SIMPLE: Final = frozenset({int, float, bool, type(None)})
_MAX_ITEMS: Final = 20_000
"""The origin of items of longer lists is the list as a whole."""


def joined(pieces: Iterable[Piece]) -> MappedText:
    """Return the text made of the pieces of compiled code."""
    copy = list(pieces)
    return MappedText("".join([piece[0] for piece in copy]), copy)


def shown(value: Any, file: SourceFile, site: int, iteration: Iteration | None) -> Piece:
    """Return the piece for a printed value."""
    text = value if type(value) is str else as_text(value)
    return (text, file, site, iteration, text if type(text) is MappedText else value)


def passed_on(
    pieces: Iterable[Piece], file: SourceFile, site: int, iteration: Iteration | None
) -> Iterator[Piece]:
    """Yield the pieces of an included file or of a block, as pieces of the site that includes it."""
    for piece in pieces:
        yield (piece[0], file, site, iteration, piece)


def joined_values(values: Iterable[Any]) -> str:
    """Return the values concatenated as text, like `~`."""
    texts = [_text(value) for value in values]
    return concatenated(texts) if any(type(text) is MappedText for text in texts) else "".join(texts)


class _UnsureText:
    """A wrapper of a value whose text is attributed to everything that its tag reads."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def unsure_text(value: Any) -> Any:
    """Return the value, with its text attributed to everything that its tag reads unless it has pieces."""
    return value if type(value) is MappedText or type(value) is MappedMarkup else _UnsureText(value)


def _text(value: Any) -> str:
    if type(value) is not _UnsureText:
        return value if type(value) is str else as_text(value)
    text = str(value.value)
    return MappedText(text, [untraced_leaf(text)]) if text else text


def percent_formatted(left: Any, right: Any) -> Any:
    """Return `left % right`, with pieces if values are inserted into a text."""
    result = left % right
    if type(result) is not str or not isinstance(left, str):
        return result
    return percent_leaves(result, left, right)


def read(value: Any, file: SourceFile, site: int, iteration: Iteration | None) -> Any:
    """Return a text with a piece of the site that reads it; other values unchanged."""
    if type(value) is str:
        return MappedText(value, [(value, file, site, iteration, value)])
    return value


def read_text(value: Any, file: SourceFile, site: int, iteration: Iteration | None) -> Any:
    """Return `str(value)` with a piece of the site that reads it.

    Values that already have pieces, or whose conversion would run code of the user, are returned unchanged.
    """
    text = value if type(value) is str else _known_text(value)
    return value if text is None else MappedText(text, [(text, file, site, iteration, value)])


def read_items(value: Any, file: SourceFile, site: int, iteration: Iteration | None) -> Any:
    """Return a copy of a list that was read, with pieces for its texts.

    Other values are returned as by `read`.
    """
    if not _is_list(value):
        return read(value, file, site, iteration)
    return type(value)(
        [
            MappedText(each, [(each, file, site, iteration, ListItem(index, each))])
            if type(each) is str
            else each
            for index, each in enumerate(value)
        ]
    )


def read_texts(value: Any, file: SourceFile, site: int, iteration: Iteration | None) -> Any:
    """Return the values of a list as texts with pieces; other values as by `read`."""
    if not _is_list(value):
        return read(value, file, site, iteration)
    found: list[Any] = []
    for index, each in enumerate(value):
        text = each if type(each) is str else _known_text(each)
        piece = (text, file, site, iteration, ListItem(index, each))
        found.append(each if text is None else MappedText(text, [piece]))
    return found


def _is_list(value: Any) -> bool:
    return (type(value) is list or type(value) is tuple) and len(value) <= _MAX_ITEMS


def _known_text(value: Any) -> str | None:
    """Return the text of a number, a boolean or None; None for other values."""
    if type(value) not in _SIMPLE:
        return None
    try:
        return str(value)
    except ValueError:  # A number with too many digits, which fails when Jinja converts it to text.
        return None


def made_by(value: Any, file: SourceFile, site: int, iteration: Iteration | None) -> Any:
    """Return the value that a tag sets; text that cannot be traced to the data is attributed to the tag."""
    if type(value) is not MappedText:
        return value
    known = value._promptls_pieces  # noqa: SLF001 - the name keeps templates from it
    if not any(type(piece) is Leaf and piece.file is None for piece in known):
        return value
    outer = (Outer(file, site, iteration),)
    # Its own pieces are already attributed to tags: a text may grow in each iteration of a loop.
    pieces = [
        within(piece, outer) if type(piece) is Leaf and piece.file is None else piece for piece in known
    ]
    return MappedText(value, pieces)
