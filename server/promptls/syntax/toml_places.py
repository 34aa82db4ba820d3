"""The places of keys and texts in a TOML text, which may be invalid; `tomllib` returns no places."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Final, Literal, NamedTuple

from promptls.text.positions import Span

MAX_CHARACTERS: Final = 200_000
"""Settings files with more characters are not read."""
MAX_LEVELS: Final = 64
"""The maximum number of names in the path of a setting, and of nested lists and tables.

`tomllib` takes quadratic time and memory for the names of one key, and is recursive.
"""
_TOKEN: Final = re.compile(
    r"""(?P<space>[ \t]+)|(?P<comment>\#[^\r\n]*)|(?P<line>\r\n|\r|\n)"""
    r"""|(?P<string>\"{3}.*?\"{3}|'{3}.*?'{3}|(?!\"{3})"(?:[^"\\\r\n]|\\.)*"|(?!'{3})'[^'\r\n]*')"""
    # An unclosed quote extends to the end of its line, so that it is scanned once.
    r"""|(?P<open>["'][^\r\n]*)|(?P<word>[\w+-]+)|(?P<sign>.)""",
    re.DOTALL,
)
TABLE_HEADER: Final = re.compile(r"[ \t]*\[{1,2}([^\]\r\n]*)")
TOML_NAME: Final = re.compile(r"\"([^\"]*)\"|'([^']*)'|([\w-]+)")
LONG_QUOTES: Final = ('"' * 3, "'" * 3)

TomlKeys = tuple[str | int, ...]


class TomlName(NamedTuple):
    """A key or a quoted text; `span` is without the quotes.

    `keys` lead to it from the root, with the indexes of items in lists; for a key, they include it.
    """

    keys: TomlKeys
    text: str
    span: Span
    is_key: bool


class TooLargeTomlError(Exception):
    """The text is longer or nested deeper than allowed for settings, from `offset` on."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.offset: Final = offset


def toml_names(text: str) -> Iterator[TomlName]:
    """Yield every key and every single-line text without escapes of a TOML text, in order.

    Stops where the text is longer or nested deeper than allowed for settings.
    """
    reader = TomlReader(text)
    with suppress(TooLargeTomlError):
        for token in reader.tokens():
            if token.re is TABLE_HEADER:
                keys: TomlKeys = ()
                for span in _header_names(token):
                    keys = (*keys, text[span.start : span.end])
                    yield TomlName(keys, text[span.start : span.end], span, is_key=True)
                continue
            is_quoted, is_key = token.lastgroup == "string", reader.expects == "key"
            if not (is_quoted or (is_key and token.lastgroup == "word")) or reader.expects == "end":
                continue
            span = Span(token.start() + is_quoted, token.end() - is_quoted)
            name = text[span.start : span.end]
            if not token.group().startswith(LONG_QUOTES) and "\\" not in name:
                yield TomlName((*reader.path, name) if is_key else reader.path, name, span, is_key)


def _header_names(header: re.Match[str]) -> Iterator[Span]:
    for levels, match in enumerate(TOML_NAME.finditer(header.string, *header.span(1)), start=1):
        _check_levels(levels, match.start())
        yield Span(*match.span(match.lastindex or 0))


def check_size(text: str) -> None:
    """Raise TooLargeTomlError for a text that would take `tomllib` too long."""
    for _ in TomlReader(text).tokens():
        pass


def _check_levels(levels: int, offset: int) -> None:
    if levels > MAX_LEVELS:
        message = f"names or brackets are nested more than {MAX_LEVELS} levels deep here"
        raise TooLargeTomlError(message, offset)


class _Open:
    """A list or inline table: the keys that lead to it, and the index of the current item."""

    def __init__(self, sign: str, keys: TomlKeys) -> None:
        self.sign: Final = sign
        self.keys: Final = keys
        self.item = 0


class TomlReader:
    """Reads a TOML text, which may be invalid, from its beginning.

    Next, it `expects` a key, a value, or the end of the line or item.
    """

    def __init__(self, text: str) -> None:
        self._text: Final = text
        self._table: TomlKeys = ()
        self._keys: TomlKeys = ()
        self._open: list[_Open] = []
        self.expects: Literal["key", "value", "end"] = "key"

    @property
    def path(self) -> TomlKeys:
        """The keys, and the indexes of items in lists, that lead from the root to the current position."""
        if not self._open:
            return (*self._table, *self._keys)
        around = self._open[-1]
        return (*around.keys, *([around.item] if around.sign == "[" else []), *self._keys)

    def tokens(self) -> Iterator[re.Match[str]]:
        """Yield the tokens and the headers of tables; each takes effect when the next one is read.

        Raises TooLargeTomlError where the text is longer or nested deeper than allowed for settings.
        """
        if len(self._text) > MAX_CHARACTERS:
            raise TooLargeTomlError(f"the file has more than {MAX_CHARACTERS:,} characters", 0)
        at = 0
        while at < len(self._text):
            is_first = self.expects == "key" and not self._open and not self._keys
            header = TABLE_HEADER.match(self._text, at) if is_first else None
            token = header or _TOKEN.match(self._text, at)
            assert token is not None
            yield token
            if header is not None:
                names = _header_names(header)
                self._table, self.expects = tuple(self._text[s.start : s.end] for s in names), "end"
            elif token.lastgroup in {"word", "string"}:
                self._name(token)
            elif token.lastgroup == "line" and not self._open:
                self._keys, self.expects = (), "key"
            elif token.lastgroup == "sign":
                self._sign(token.group())
                _check_levels(len(self._open), token.start())
            at = token.end()

    def _name(self, token: re.Match[str]) -> None:
        is_quoted = token.lastgroup == "string"
        if self.expects == "key":
            self._keys = (*self._keys, self._text[token.start() + is_quoted : token.end() - is_quoted])
            _check_levels(len(self._keys), token.start())
        elif not self._open or self._open[-1].sign == "{":
            self.expects = "end"

    def _sign(self, sign: str) -> None:
        if sign == "=":
            self.expects = "value"
        elif sign in "[{" and self.expects == "value":
            self._open.append(_Open(sign, self.path))
            self._keys, self.expects = (), "value" if sign == "[" else "key"
        elif sign in "]}" and self._open:
            self._open.pop()
            self._keys, self.expects = (), "end"
        elif sign == "," and self._open:
            self._open[-1].item += 1
            self._keys, self.expects = (), "value" if self._open[-1].sign == "[" else "key"
