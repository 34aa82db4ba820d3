"""Find what can be written at a position in JSON text, even if the text is incomplete or invalid."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from promptls.syntax.yaml.expected import ITEM
from promptls.text.positions import Span

_PIECE: Final = re.compile(r'"(?:[^"\\\r\n]|\\[^\r\n])*"?|[{}\[\]:,]|[^\s{}\[\]:,"]+')
_REST: Final = re.compile(r'(?:[^"\\\r\n]|\\[^\r\n])*"')
_WORD: Final = re.compile(r'[^\s{}\[\]:,"]*')
_COLON: Final = re.compile(r"\s*:")
_NEXT: Final = re.compile(r"\s*(\S?)")


class JsonPlace(NamedTuple):
    """A position in a JSON text.

    `path` leads to the object of a key, or to a value; `-` is an item of a list. `word` is the text
    that is already there, left and right of the position, including quotes. `keys` are the object's keys.
    """

    is_key: bool
    path: tuple[str, ...]
    word: Span
    is_quoted: bool = False
    has_colon: bool = False
    needs_comma: bool = False
    keys: tuple[str, ...] = ()


class _Open(NamedTuple):
    """An object or list that is open at the position, with the keys that it has so far."""

    opening: str
    keys: list[str]
    is_behind_key: bool


def json_place(text: str, offset: int) -> JsonPlace | None:
    """Return what can be written at `offset`.

    None outside of objects and lists, and after a complete value.
    """
    open_: list[_Open] = []
    word = Span(offset, offset)
    last = ""
    for match in _PIECE.finditer(text, 0, offset):
        piece = match.group()
        if match.end() == offset and (_is_open(piece) or piece[0] not in '{}[]:,"'):
            word = Span(match.start(), offset)
            break
        if piece in {"{", "["}:
            open_.append(_Open(piece, [], is_behind_key=False))
        elif piece in {"}", "]"}:
            if open_:
                open_.pop()
        elif open_ and piece == ":" and last[:1] == '"':
            open_[-1].keys.append(last[1:-1])
            open_[-1] = open_[-1]._replace(is_behind_key=True)
        elif open_ and piece == ",":
            open_[-1] = open_[-1]._replace(is_behind_key=False)
        last = piece
    if not open_ or last[-1:] not in {"{", "[", ",", ":"}:
        return None
    return _place(text, offset, open_, word)


def _is_open(piece: str) -> bool:
    return piece[0] == '"' and (len(piece) == 1 or not piece.endswith('"'))


def _place(text: str, offset: int, open_: list[_Open], word: Span) -> JsonPlace:
    is_quoted = text[word.start : word.start + 1] == '"' and word.start < offset
    rest = (_REST if is_quoted else _WORD).match(text, offset)
    whole = Span(word.start, rest.end() if rest else offset)
    path = tuple(step for each in open_ for step in ((ITEM,) if each.opening == "[" else each.keys[-1:]))
    inner = open_[-1]
    following = _NEXT.match(text, whole.end)
    needs_comma = following is not None and following[1] in {'"', "{", "["}
    if inner.opening == "[" or inner.is_behind_key:
        return JsonPlace(is_key=False, path=path, word=whole, is_quoted=is_quoted, needs_comma=needs_comma)
    return JsonPlace(
        is_key=True,
        path=path[: len(path) - bool(inner.keys)],
        word=whole,
        is_quoted=is_quoted,
        has_colon=_COLON.match(text, whole.end) is not None,
        needs_comma=needs_comma,
        keys=(*inner.keys, *_keys_behind(text, whole.end)),
    )


def _keys_behind(text: str, start: int) -> list[str]:
    """Return the keys of the same object after a position."""
    depth = 0
    found = []
    last = ""
    for match in _PIECE.finditer(text, start):
        piece = match.group()
        if piece in {"{", "["}:
            depth += 1
        elif piece in {"}", "]"}:
            depth -= 1
            if depth < 0:
                break
        elif piece == ":" and not depth and last[:1] == '"':
            found.append(last[1:-1])
        last = piece
    return found
