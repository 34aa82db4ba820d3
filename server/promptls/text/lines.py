r"""Lines, columns and the units that columns are counted in.

A line ends at `\n`, `\r\n` or `\r` and nowhere else, as the Language Server Protocol
3.17 defines it; form feeds, U+0085 and U+2028 are ordinary characters here.
Everything past an end is clamped to it, because a client may send positions of a text
that has changed since.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from enum import Enum
from typing import NamedTuple

_LAST_OF_PLANE_0 = "\uffff"
_LINE_END = re.compile(r"\r\n|\n|\r")


class Unit(Enum):
    """What a column counts; the values are the protocol's names of position encodings."""

    UTF8 = "utf-8"
    UTF16 = "utf-16"
    UTF32 = "utf-32"


class Place(NamedTuple):
    """A line and a column, both from 0; the column counts code points."""

    line: int
    column: int


def line_starts(text: str) -> list[int]:
    """The offset at which each line begins; a text of n line ends has n + 1 lines."""
    if "\r" in text:
        return [0, *(match.end() for match in _LINE_END.finditer(text))]
    starts = [0]
    end = text.find("\n") + 1
    while end:
        starts.append(end)
        end = text.find("\n", end) + 1
    return starts


def place_of(starts: list[int], offset: int) -> Place:
    """The line and column of `offset` in a text whose lines begin at `starts`."""
    line = bisect_right(starts, offset) - 1
    return Place(line, offset - starts[line])


def line_end(text: str, start: int) -> int:
    """The offset of the line end of the line that begins at `start`, or the end of the text."""
    match = _LINE_END.search(text, start)
    return match.start() if match else len(text)


def column_from_units(line: str, units: int, unit: Unit) -> int:
    """The code point column that `units` of `unit` reach in `line`, clamped to its length.

    Units that end inside a character lead to that character's beginning.
    """
    if units <= 0:
        return 0
    if unit is Unit.UTF32 or line.isascii():
        return min(units, len(line))
    reached = 0
    for column, character in enumerate(line):
        reached += _width(character, unit)
        if units < reached:
            return column
    return len(line)


def units_from_column(line: str, column: int, unit: Unit) -> int:
    """How many units of `unit` the first `column` characters of `line` take."""
    before = line[:column]
    if unit is Unit.UTF32 or before.isascii():
        return len(before)
    return sum(_width(character, unit) for character in before)


def _width(character: str, unit: Unit) -> int:
    if unit is Unit.UTF16:
        return 2 if character > _LAST_OF_PLANE_0 else 1
    return len(character.encode("utf-8", "surrogatepass"))
