"""What may stand at a place of a flow collection: `[a, b]` and `{a: b}`."""

from __future__ import annotations

import re
from typing import Final

from promptls.syntax.yaml.place import ITEM, YamlPlace, scalar_end
from promptls.text.span import Span

_LATER_KEY: Final = re.compile(r"[,{]\s*[\"']?([\w.$-]+)[\"']?\s*:")
_COLON: Final = re.compile(r"[\"']?[ \t]*:(?=[ \t\r\n]|\Z)")
_MOST_BEHIND: Final = 1000
"""How many characters behind the place are looked at for keys of the same flow mapping."""


class _Level:
    """One open bracket: the keys of a mapping so far, and the one whose value is being written."""

    __slots__ = ("key", "keys", "opening")

    def __init__(self, opening: str) -> None:
        self.opening = opening
        self.keys: list[str] = []
        self.key: str | None = None


class _FlowScan:
    """The brackets that are open in a flow collection, and where the word at the end begins."""

    __slots__ = ("is_over", "levels", "quote", "text", "word")

    def __init__(self, text: str, begin: int, end: int) -> None:
        self.text = text
        self.levels: list[_Level] = []
        self.word = begin
        self.quote = ""
        self.is_over = False
        for position in range(begin, end):
            self._take(position, text[position])

    def _take(self, position: int, character: str) -> None:
        if self.quote:
            if character == self.quote:
                self.quote = ""
        elif character in "\"'" and not self.text[self.word : position].strip():
            self.quote, self.word = character, position
        elif character in "[{":
            self.levels.append(_Level(character))
            self.word = position + 1
        elif character in "]}" and self.levels:
            self.levels.pop()
            self.word = position + 1
            self.is_over = self.is_over or not self.levels
        elif character == "," and self.levels:
            self.levels[-1].key = None
            self.word = position + 1
        elif character == ":" and self._ends_key(position):
            level = self.levels[-1]
            level.key = self.text[self.word : position].strip().strip("\"'")
            level.keys.append(level.key)
            self.word = position + 1

    def _ends_key(self, position: int) -> bool:
        inside = bool(self.levels) and self.levels[-1].opening == "{" and self.levels[-1].key is None
        return inside and self.text[position + 1 : position + 2] in {" ", "\n", "\r", ""}


def flow_place(
    text: str, begin: int, offset: int, path: tuple[str, ...], column: int, indent: int
) -> YamlPlace | None:
    """What may stand at `offset` in the flow collection that begins at `begin`.

    `path` leads to the collection; `column` and `indent` are those of the line that holds the place.
    """
    scan = _FlowScan(text, begin, offset)
    if scan.is_over or not scan.levels:
        return None
    typed = text[scan.word : offset]
    word = scan.word + len(typed) - len(typed.lstrip(" \t\r\n")) + len(scan.quote)
    inside = path
    for level in scan.levels:
        if level.opening == "[":
            inside = (*inside, ITEM)
        elif level.key is not None:
            inside = (*inside, level.key)
    innermost = scan.levels[-1]
    place = YamlPlace(
        "value",
        inside,
        Span(word, scalar_end(text, offset, scan.quote, ",]}")),
        column=column,
        indent=indent,
        needs_space=innermost.opening == "{" and text[:word].endswith(":"),
        quote=scan.quote,
        in_flow=True,
    )
    if innermost.opening == "[" or innermost.key is not None:
        return place
    end = scalar_end(text, offset, scan.quote, ":,]}")
    rest = text[end : end + _MOST_BEHIND].split("}", maxsplit=1)[0]
    colon = _COLON.match(text, end)
    return place._replace(
        what="key",
        word=Span(word, end),
        siblings=frozenset([*innermost.keys, *_LATER_KEY.findall(rest)]),
        has_colon=colon is not None,
        needs_space=False,
    )
