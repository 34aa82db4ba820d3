"""A template's text in groups that compile one by one, so that an edit costs the group that it is in.

A group begins with an item of a list in the first column, outside of all Jinja blocks. What one
group sets, imports or defines reaches the others through the context, as it does from one file to
another; where that would not be the same, the text stays whole.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from typing import Final, NamedTuple

from jinja2 import TemplateSyntaxError
from jinja2.lexer import Lexer

from promptls.rendering.source_map.lexer import PlacedLexer

_KEPT_CHARACTERS: Final = 4_000_000
"""How many characters of pieces are kept in mind, those that were used last."""
_WHOLE: Final = re.compile(r"\{%[-+]?\s*(?:extends|block|autoescape)\b")
"""Statements that reach over a whole file."""
_LONGEST_UNIT: Final = 50_000
"""A comment of more characters makes the text one group."""
_ITEM: Final = re.compile(r"(?<=\n)(?=- )")
_SPACES: Final = frozenset({"whitespace"})
_OPENS: Final = frozenset({"for", "if", "macro", "call", "filter", "with"})


class Group(NamedTuple):
    """A stretch of a template's text: where it begins, and on which 0-based line."""

    text: str
    start: int
    line: int
    is_last: bool


class _Unit(NamedTuple):
    """What a text opens, less what it closes. `depth` is None where a tag or comment is left open."""

    depth: int | None
    is_jinja: bool = True


class Grouping:
    """Cuts texts into groups, and keeps in mind what it has looked at."""

    def __init__(self, lexer: PlacedLexer) -> None:
        """Read tags with `lexer`."""
        self._lexer = lexer
        self._known: OrderedDict[str, _Unit] = OrderedDict()
        self._characters = 0

    def groups(self, text: str) -> list[Group]:
        """The groups of `text`: one where it cannot be cut."""
        whole = [Group(text, 0, 0, is_last=True)]
        if "\r" in text or _WHOLE.search(text):
            return whole
        found: list[Group] = []
        start = line = depth = 0
        group = unit = ""
        for piece in _ITEM.split(text):
            unit += piece
            known = self._unit(unit)
            if not known.is_jinja or len(unit) > _LONGEST_UNIT:
                return whole
            if known.depth is None:
                continue
            depth += known.depth
            group, unit = group + unit, ""
            if depth == 0:
                found.append(Group(group, start, line, is_last=False))
                start, line, group = start + len(group), line + group.count("\n"), ""
            elif depth < 0:
                return whole
        if group or unit or not found:
            return whole
        found[-1] = found[-1]._replace(is_last=True)
        return found

    def _unit(self, text: str) -> _Unit:
        known = self._known.get(text)
        if known is None:
            known = self._known[text] = self._read(text)
            self._characters += len(text)
            while self._characters > _KEPT_CHARACTERS:
                self._characters -= len(self._known.popitem(last=False)[0])
        else:
            self._known.move_to_end(text)
        return known

    def _read(self, text: str) -> _Unit:
        depth = 0
        tag: list[str] | None = None
        try:
            for _, token, value in Lexer.tokeniter(self._lexer, text, None):
                if token in {"block_begin", "variable_begin"}:
                    tag = [token]
                elif token in {"block_end", "variable_end"}:
                    depth += _change(tag or [])
                    tag = None
                elif tag is not None and token not in _SPACES:
                    tag.append(value)
        except TemplateSyntaxError as error:
            return _Unit(None, is_jinja=(error.message or "").startswith("Missing end of"))
        return _Unit(depth if tag is None else None)


def _change(tag: list[str]) -> int:
    """How many blocks a tag opens, less those that it closes."""
    if tag[0] != "block_begin" or len(tag) == 1:
        return 0
    word = tag[1]
    if word.startswith("end"):
        return -1
    if word == "set":
        return 0 if "=" in _ahead_of_filter(tag) else 1
    return 1 if word in _OPENS else 0


def _ahead_of_filter(tag: list[str]) -> list[str]:
    return tag[: tag.index("|")] if "|" in tag else tag
