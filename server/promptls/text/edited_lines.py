"""A text as a list of lines, in which an edit costs the lines that it touches."""

from __future__ import annotations

from typing import Final, NamedTuple

from promptls.text.lines import Unit, column_from_units, line_starts


class UnitPlace(NamedTuple):
    """A line and a column in units, both from 0, as a client sends them."""

    line: int
    units: int


class EditedLines:
    """The lines of one text, each with its end; the last one has none and may be empty."""

    def __init__(self, text: str) -> None:
        self._lines: Final = _lines_of(text)

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(self._lines)

    def edit(self, start: UnitPlace, end: UnitPlace, text: str, unit: Unit) -> None:
        """Put `text` between two places, which are clamped to the text; their order does not matter."""
        (first, from_column), (last, to_column) = sorted(
            (self._clamped(start, unit), self._clamped(end, unit))
        )
        new = self._lines[first][:from_column] + text + self._lines[last][to_column:]
        # A line feed behind a carriage return is of the same line end.
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

    def _clamped(self, place: UnitPlace, unit: Unit) -> tuple[int, int]:
        """The line of a place, and its column in code points."""
        if place.line < 0:
            return 0, 0
        if place.line >= len(self._lines):
            return len(self._lines) - 1, len(self._lines[-1])
        content = self._lines[place.line].rstrip("\r\n")
        return place.line, column_from_units(content, place.units, unit)


def _lines_of(text: str) -> list[str]:
    starts = line_starts(text)
    return [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]
