"""A data set of a configuration as an evaluation prompt in YAML, each text of which leads back to Python.

What nobody knows without running the configuration is printed by Jinja there, so that the rules
take it for what it is: a value that is not known.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from promptls.conversions.placed_text import MixedText, TextPiece, pieces_of
from promptls.conversions.python_symbol import Symbol
from promptls.text.span import Span

_PLAIN_KEY: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_NO_TEXT_IN_YAML: Final = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
_JINJA: Final = re.compile(r"\{[{%#]")
_UNKNOWN: Final = "{{ unknown }}"
_DEEPEST: Final = 30


class WrittenText(NamedTuple):
    """A text of the data set: where it stands in the YAML, and what wrote it.

    `places` says where each of its characters begins in the YAML. `holder` is the number of the key that
    it stands below, None at the top.
    """

    span: Span
    places: tuple[int, ...]
    pieces: tuple[TextPiece, ...]
    holder: int | None


class WrittenDataset(NamedTuple):
    """The YAML, and its keys and texts in their order."""

    text: str
    texts: tuple[WrittenText, ...]


def written_dataset(dataset: Mapping[Any, Any]) -> WrittenDataset:
    """The data set as YAML under Jinja; raises RecursionError for one that is too deep."""
    writer = _Writer()
    writer.mapping(dataset, 0, None)
    return WrittenDataset("".join(writer.written), tuple(writer.texts))


class _Writer:
    """The YAML that is written so far, and how long it is."""

    def __init__(self) -> None:
        self.written: list[str] = []
        self.length = 0
        self.texts: list[WrittenText] = []

    def mapping(self, value: Mapping[Any, Any], depth: int, holder: int | None) -> None:
        """One line for each key, and the lines of its value."""
        if depth > _DEEPEST:
            raise RecursionError
        for key, inner in value.items():
            self._add("  " * depth)
            own = len(self.texts)
            self._key(key, holder)
            self._add(":")
            self._value(inner, depth + 1, own, is_class=key == "type")

    def _value(self, value: Any, depth: int, holder: int, *, is_class: bool = False) -> None:
        """What stands behind a key or a dash, to the end of its last line."""
        if isinstance(value, dict) and value:
            self._add("\n")
            self.mapping(value, depth, holder)
            return
        if isinstance(value, list | tuple) and value:
            self._add("\n")
            for item in value:
                self._add("  " * depth + "-")
                self._value(item, depth + 1, holder)
            return
        self._add(" ")
        if isinstance(value, str | MixedText):
            self._quoted(pieces_of(value), holder)
        elif isinstance(value, Symbol) and is_class:
            # A class is known by its name, whatever module it is of.
            self._add(json.dumps(value.text.rpartition(".")[2]))
        else:
            self._add(_without_text(value))
        self._add("\n")

    def _key(self, key: Any, holder: int | None) -> None:
        start = self.length
        if not isinstance(key, str):
            self._add(_without_text(key))
            self.texts.append(WrittenText(Span(start, self.length), (), (), holder))
        elif _PLAIN_KEY.fullmatch(key) and key.lower() not in _NO_TEXT_IN_YAML:
            self._add(str(key))
            places = tuple(range(start, self.length))
            self.texts.append(WrittenText(Span(start, self.length), places, pieces_of(key), holder))
        else:
            self._quoted(pieces_of(key), holder)

    def _quoted(self, pieces: tuple[TextPiece, ...], holder: int | None) -> None:
        start = self.length
        self._add('"')
        places: list[int] = []
        for piece in pieces:
            if piece.is_symbol:
                places += [self.length] * len(piece.text)
                self._add(_UNKNOWN)
                continue
            has_end = "endraw" in piece.text
            is_raw = _JINJA.search(piece.text) is not None and not has_end
            self._add("{% raw %}" if is_raw else "")
            for character in piece.text:
                places.append(self.length)
                self._add("{{ '{' }}" if has_end and character == "{" else _escaped(character))
            self._add("{% endraw %}" if is_raw else "")
        self._add('"')
        self.texts.append(WrittenText(Span(start, self.length), tuple(places), pieces, holder))

    def _add(self, text: str) -> None:
        self.written.append(text)
        self.length += len(text)


def _escaped(character: str) -> str:
    """A character as it stands between the double quotes of YAML."""
    if character in '"\\':
        return f"\\{character}"
    if character == "\n":
        return "\\n"
    return character if character.isprintable() else f"\\U{ord(character):08x}"


def _without_text(value: Any) -> str:
    """What is no text: numbers, truth values and nothing as YAML has them, else what Jinja would print."""
    if value is None or isinstance(value, bool | int | float):
        return json.dumps(value)
    if isinstance(value, dict):
        return "{}"
    return "[]" if isinstance(value, list | tuple) else _UNKNOWN
