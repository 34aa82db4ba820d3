"""Where in a settings file a place is: in a table's name, in a key, in a value; found line by line.

The text is mostly not valid TOML, because somebody writes it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, Literal, NamedTuple

from promptls.text.span import Span
from promptls.workspace.project_settings import PYPROJECT_FILE, SETTINGS_FILE

_TOKEN: Final = re.compile(
    r"""(?P<space>[ \t]+)|(?P<comment>\#[^\r\n]*)|(?P<line>\r\n|\r|\n)"""
    r"""|(?P<string>\"{3}.*?\"{3}|'{3}.*?'{3}|(?!\"{3})"(?:[^"\\\r\n]|\\.)*"|(?!'{3})'[^'\r\n]*')"""
    r"""|(?P<open>["'][^\r\n]*)|(?P<word>[\w+-]+)|(?P<sign>.)""",
    re.DOTALL,
)
_HEADER: Final = re.compile(r"[ \t]*\[{1,2}([^\]\r\n]*)")
_NAME: Final = re.compile(r"\"([^\"]*)\"|'([^']*)'|([\w-]+)")
_LONG_QUOTES: Final = ('"' * 3, "'" * 3)
_WORD: Final = re.compile(r"[\w-]*")
_IN_QUOTES: Final = re.compile(r"[^\"'\r\n]*")

Keys = tuple[str, ...]


class TomlPlace(NamedTuple):
    """A place in a settings file.

    `keys` lead from the settings' root to the mapping whose key is written, or to the value that is.
    `word` is what stands there already, without quotes; `quote` is the one that is open.
    """

    what: Literal["table", "key", "value"]
    keys: Keys
    word: Span
    quote: str = ""


def is_settings_file(path: str) -> bool:
    """Whether a file of this name holds settings of promptls."""
    return Path(path).name in {SETTINGS_FILE, PYPROJECT_FILE}


def root_of(path: str) -> Keys:
    """The tables around the settings in a file of this name."""
    return ("tool", "promptls") if Path(path).name == PYPROJECT_FILE else ()


def place_in(text: str, offset: int, root: Keys) -> TomlPlace | None:
    """Where `offset` stands; None in a comment, and where the settings of somebody else stand."""
    found = _Reader(text, offset).place()
    if found is None or found.what == "table":
        return found
    if found.keys[: len(root)] != root:
        return None
    return found._replace(keys=found.keys[len(root) :])


def names_in(text: str) -> Keys:
    """The names in a table's header or a dotted key."""
    return tuple(next(filter(None, match.groups()), "") for match in _NAME.finditer(text))


class _Reader:
    """Reads a text up to a place."""

    def __init__(self, text: str, offset: int) -> None:
        self._text: Final = text
        self._offset: Final = offset
        self._table: Keys = ()
        self._keys: list[str] = []
        self._state: Literal["key", "value", "done"] = "key"
        self._open: list[tuple[str, Keys]] = []

    def place(self) -> TomlPlace | None:
        at = 0
        while at < self._offset:
            if self._state == "key" and not self._open and not self._keys:
                header = _HEADER.match(self._text, at)
                if header is not None and self._text[at:].lstrip(" \t").startswith("["):
                    if header.end() >= self._offset:
                        return self._in_header(header)
                    self._table = names_in(header[1])
                    self._state = "done"
                    at = header.end()
                    continue
            token = _TOKEN.match(self._text, at)
            assert token is not None
            if token.lastgroup == "open" and token.group().startswith(_LONG_QUOTES):
                return None
            if token.end() >= self._offset and token.lastgroup in {"comment", "word", "string", "open"}:
                return self._in_token(token)
            self._pass(token)
            at = token.end()
        if self._state == "done":
            return None
        return self._placed(Span(self._offset, self._word_end(_WORD)))

    def _in_header(self, header: re.Match[str]) -> TomlPlace:
        end = header.end()
        return TomlPlace("table", (), Span(header.start(1), max(end, self._offset)))

    def _in_token(self, token: re.Match[str]) -> TomlPlace | None:
        if token.lastgroup == "comment" or self._state == "done":
            return None
        if token.lastgroup == "word":
            return self._placed(Span(token.start(), self._word_end(_WORD)))
        quote = token.group()[0]
        is_long = token.group().startswith(_LONG_QUOTES)
        behind = token.lastgroup == "string" and token.end() <= self._offset
        if is_long or behind or self._offset <= token.start():
            return None
        return self._placed(Span(token.start() + 1, self._word_end(_IN_QUOTES)), quote)

    def _word_end(self, pattern: re.Pattern[str]) -> int:
        match = pattern.match(self._text, self._offset)
        return match.end() if match else self._offset

    def _placed(self, word: Span, quote: str = "") -> TomlPlace:
        around = self._open[-1][1] if self._open else self._table
        keys = (*around, *self._keys)
        return TomlPlace("value" if self._state == "value" else "key", keys, word, quote)

    def _pass(self, token: re.Match[str]) -> None:
        text = token.group()
        if token.lastgroup == "line":
            if not self._open:
                self._state, self._keys = "key", []
        elif token.lastgroup in {"word", "string"}:
            if self._state == "key":
                self._keys += names_in(text)
            elif not self._open or self._open[-1][0] == "{":
                self._state = "done"
        elif text == "=":
            self._state = "value"
        elif text in "[{" and self._state == "value":
            around = self._open[-1][1] if self._open else self._table
            self._open.append((text, (*around, *self._keys)))
            self._keys = []
            self._state = "key" if text == "{" else "value"
        elif text in "]}" and self._open:
            self._open.pop()
            self._state = "done"
        elif text == "," and self._open:
            self._keys = []
            self._state = "key" if self._open[-1][0] == "{" else "value"
