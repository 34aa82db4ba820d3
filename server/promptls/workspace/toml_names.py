"""The names and texts of a settings file with their places, found token by token.

The text may be no valid TOML, because somebody writes it: what can be told of it is told.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from promptls.text.span import Span

_TOKEN: Final = re.compile(
    r"""(?P<space>[ \t]+)|(?P<comment>\#[^\r\n]*)|(?P<line>\r\n|\r|\n)"""
    r"""|(?P<string>\"{3}.*?\"{3}|'{3}.*?'{3}|(?!\"{3})"(?:[^"\\\r\n]|\\.)*"|(?!'{3})'[^'\r\n]*')"""
    r"""|(?P<word>[\w+-]+)|(?P<sign>.)""",
    re.DOTALL,
)
_TABLE: Final = re.compile(r"[ \t]*\[{1,2}([^\]\r\n]*)")
_NAME: Final = re.compile(r"\"([^\"]*)\"|'([^']*)'|([\w-]+)")
_LONG_QUOTES: Final = ('"' * 3, "'" * 3)

TomlKeys = tuple[str | int, ...]


class TomlName(NamedTuple):
    """A key, or a text in quotes, at `span` without the quotes.

    `keys` lead to it from the file's root, with the numbers of items in lists; those of a key end with it.
    """

    keys: TomlKeys
    text: str
    span: Span
    is_key: bool


def toml_names(text: str) -> Iterator[TomlName]:
    """Every key of a TOML text and every text in it that stands on one line without escapes, in order."""
    yield from _Reader(text).names()


class _Open:
    """A list or a table in line: the keys that lead to it, and the number of the item that is read."""

    def __init__(self, sign: str, keys: TomlKeys) -> None:
        self.sign: Final = sign
        self.keys: Final = keys
        self.item = 0


class _Reader:
    """Reads a text from its beginning; `_keys` are those of the line or item that is read."""

    def __init__(self, text: str) -> None:
        self._text: Final = text
        self._table: TomlKeys = ()
        self._keys: TomlKeys = ()
        self._is_value = False
        self._open: list[_Open] = []

    def names(self) -> Iterator[TomlName]:
        at = 0
        while at < len(self._text):
            table = None if self._open or self._keys or self._is_value else _TABLE.match(self._text, at)
            if table is not None:
                self._table, self._is_value = (), True
                for match in _NAME.finditer(self._text, *table.span(1)):
                    span = Span(*match.span(match.lastindex or 0))
                    self._table = (*self._table, self._text[span.start : span.end])
                    yield TomlName(self._table, str(self._table[-1]), span, is_key=True)
                at = table.end()
                continue
            token = _TOKEN.match(self._text, at)
            assert token is not None
            at = token.end()
            if token.lastgroup in {"word", "string"}:
                yield from self._name(token)
            elif token.lastgroup == "line" and not self._open:
                self._keys, self._is_value = (), False
            elif token.lastgroup == "sign":
                self._sign(token.group())

    def _around(self) -> TomlKeys:
        if not self._open:
            return self._table
        around = self._open[-1]
        return (*around.keys, around.item) if around.sign == "[" else around.keys

    def _name(self, token: re.Match[str]) -> Iterator[TomlName]:
        written, is_quoted = token.group(), token.lastgroup == "string"
        span = Span(token.start() + is_quoted, token.end() - is_quoted)
        text = self._text[span.start : span.end]
        is_long = is_quoted and written.startswith(_LONG_QUOTES)
        if not self._is_value:
            self._keys = (*self._keys, text)
        elif not is_quoted:
            return
        if not is_long and "\\" not in text:
            yield TomlName((*self._around(), *self._keys), text, span, is_key=not self._is_value)

    def _sign(self, sign: str) -> None:
        if sign == "=":
            self._is_value = True
        elif sign in "[{" and self._is_value:
            self._open.append(_Open(sign, (*self._around(), *self._keys)))
            self._keys, self._is_value = (), sign == "["
        elif sign in "]}" and self._open:
            self._open.pop()
            self._keys, self._is_value = (), True
        elif sign == "," and self._open:
            self._open[-1].item += 1
            self._keys, self._is_value = (), self._open[-1].sign == "["
