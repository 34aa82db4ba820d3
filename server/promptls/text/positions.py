"""Offsets, spans, lines and columns of a text.

An offset counts code points from the start of a text; a span is a half-open pair of offsets. Only line
feeds, carriage returns and pairs of both end a line. Columns of protocol positions count in the units
that the client has chosen.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from enum import Enum
from typing import Final, NamedTuple


class Span(NamedTuple):
    """The half-open range of a text from `start` up to, but not including, `end`."""

    start: int
    end: int

    def shifted(self, by: int) -> Span:
        """Return the same range in a text that begins `by` characters earlier."""
        return Span(self.start + by, self.end + by)

    def covers(self, offset: int) -> bool:
        """Return whether the character at `offset` is in the span."""
        return self.start <= offset < self.end

    def touches(self, offset: int) -> bool:
        """Return whether a cursor at `offset` is in the span, or directly before or after it."""
        return self.start <= offset <= self.end

    def is_empty(self) -> bool:
        """Return whether the span is empty."""
        return self.start == self.end


NOWHERE: Final = Span(0, 0)
"""The span of something that does not appear in the text."""


_LAST_OF_PLANE_0 = "\uffff"
_LINE_END = re.compile(r"\r\n|\n|\r")


class PositionEncoding(Enum):
    """What a column counts; the values are the protocol's names."""

    UTF8 = "utf-8"
    UTF16 = "utf-16"
    UTF32 = "utf-32"


class LineColumn(NamedTuple):
    """A line and a column, both zero-based; the column counts code points."""

    line: int
    column: int


def line_starts(text: str) -> list[int]:
    """Return the offset at which each line begins; a text with n line breaks has n + 1 lines."""
    if "\r" in text:
        return [0, *(match.end() for match in _LINE_END.finditer(text))]
    starts = [0]
    end = text.find("\n") + 1
    while end:
        starts.append(end)
        end = text.find("\n", end) + 1
    return starts


def line_ends(text: str) -> int:
    """Return the number of line breaks."""
    return text.count("\n") + (text.count("\r") - text.count("\r\n") if "\r" in text else 0)


def line_column(starts: list[int], offset: int) -> LineColumn:
    """Return the line and column of `offset` in a text whose lines begin at `starts`."""
    line = bisect_right(starts, offset) - 1
    return LineColumn(line, offset - starts[line])


def leading_spaces(text: str) -> int:
    """Return how many spaces a text begins with."""
    return len(text) - len(text.lstrip(" "))


def stripped_span(text: str, start: int) -> Span:
    """Return the span of a text from `start` on, without the white space around it; empty if it is blank."""
    first = start + len(text) - len(text.lstrip())
    return Span(first, first + len(text.strip()))


def line_start(text: str, offset: int) -> int:
    """Return the offset at which the line of a character begins."""
    return max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1


def line_end(text: str, start: int) -> int:
    """Return the offset of the line break of the line that begins at `start`, or the end of the text."""
    end = text.find("\n", start)
    end = len(text) if end < 0 else end
    first = text.find("\r", start, end)
    return end if first < 0 else first


def column_from_units(line: str, units: int, encoding: PositionEncoding) -> int:
    """Return the code point column that `units` of `encoding` reach in `line`, clamped to its length.

    Units that end inside a character are rounded down to its beginning.
    """
    if units <= 0:
        return 0
    if encoding is PositionEncoding.UTF32 or line.isascii():
        return min(units, len(line))
    reached = 0
    for column, character in enumerate(line):
        reached += _width(character, encoding)
        if units < reached:
            return column
    return len(line)


def units_from_column(line: str, column: int, encoding: PositionEncoding) -> int:
    """Return how many units of `encoding` the first `column` characters of `line` take."""
    before = line[:column]
    if encoding is PositionEncoding.UTF32 or before.isascii():
        return len(before)
    if encoding is PositionEncoding.UTF16:
        return len(before.encode("utf-16-le", "surrogatepass")) // 2
    return len(before.encode("utf-8", "surrogatepass"))


def _width(character: str, encoding: PositionEncoding) -> int:
    if encoding is PositionEncoding.UTF16:
        return 2 if character > _LAST_OF_PLANE_0 else 1
    return len(character.encode("utf-8", "surrogatepass"))


class ClientPosition(NamedTuple):
    """A line and a column in units of the position encoding, both zero-based, as sent by a client."""

    line: int
    units: int


class EditedLines:
    """The lines of a text, each with its line break; the last line has none and may be empty."""

    def __init__(self, text: str) -> None:
        self._lines: Final = _lines_of(text)

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(self._lines)

    def edit(self, start: ClientPosition, end: ClientPosition, text: str, encoding: PositionEncoding) -> None:
        """Replace the text between two positions, in either order; positions are clamped to the text."""
        (first, from_column), (last, to_column) = sorted(
            (self._clamp(start, encoding), self._clamp(end, encoding))
        )
        new = self._lines[first][:from_column] + text + self._lines[last][to_column:]
        # A line feed after a carriage return belongs to the same line break.
        if new.startswith("\n") and first > 0 and self._lines[first - 1].endswith("\r"):
            first -= 1
            new = self._lines[first] + new
        if new.endswith("\r") and last + 1 < len(self._lines) and self._lines[last + 1].startswith("\n"):
            last += 1
            new += self._lines[last]
        lines = _lines_of(new)
        if last + 1 < len(self._lines) and not lines[-1]:
            lines.pop()
        elif last + 1 < len(self._lines) and not lines[-1].endswith(("\n", "\r")):
            last += 1
            lines[-1] += self._lines[last]
        self._lines[first : last + 1] = lines

    def _clamp(self, place: ClientPosition, encoding: PositionEncoding) -> tuple[int, int]:
        """Return the line of a position, and its column in code points."""
        if place.line < 0:
            return 0, 0
        if place.line >= len(self._lines):
            return len(self._lines) - 1, len(self._lines[-1])
        content = self._lines[place.line].rstrip("\r\n")
        return place.line, column_from_units(content, place.units, encoding)


def _lines_of(text: str) -> list[str]:
    starts = line_starts(text)
    return [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]


_END: Final = re.compile(r"\w*")
_MAX: Final = 1000
"""No word that is looked up is longer than this."""


def word_at(text: str, offset: int) -> Span | None:
    """Return the span of the letters, digits and `_` around or before `offset`, or None if there are none."""
    start = offset
    while start > 0 and offset - start < _MAX and (text[start - 1].isalnum() or text[start - 1] == "_"):
        start -= 1
    match = _END.match(text, offset, min(offset + _MAX, len(text)))
    end = match.end() if match is not None else offset
    return Span(start, end) if end > start else None
