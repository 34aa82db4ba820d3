"""The one edit that many changes of one document amount to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from promptls.text.lines import column_from_units
from promptls.text.span import Span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptls.syntax.source import Source
    from promptls.text.lines import Unit

_MOST_LINES: Final = 400
"""How far apart the changes may stand that are taken as one edit."""


class Typed(NamedTuple):
    """One edit that so many changes amount to."""

    span: Span
    text: str
    changes: int


def typed_together(source: Source, changes: Sequence[dict[str, Any]], unit: Unit) -> Typed | None:
    r"""The one edit that the first of the changes amount to: as many as stay near one another.

    Each change counts from the text that the one before it left; a line that is past the end stops the
    count. None where not even the first one can be taken, or where lines end at `\r` alone.
    """
    window = _Window(source)
    lines, top = window.lines, 0
    count = 0
    for change in changes:
        place, text = change.get("range"), change["text"]
        if place is None:
            break
        start, end = place["start"], place["end"]
        above, below = start["line"] - top, end["line"] - top
        if not 0 <= above <= below < len(lines):
            if above > below or not window.reaches(top + above, top + below):
                break
            lines = window.lines
            above, below, top = above + top - window.first, below + top - window.first, window.first
        head = lines[above]
        left, right = start["character"], end["character"]
        if above == below and 0 <= left <= right < len(head) and head.isascii():
            made = head[:left] + text + head[right:]
        else:
            left, right = _column(head, left, unit), _column(lines[below], right, unit)
            if above == below and left > right:
                break
            made = head[:left] + text + lines[below][right:]
        if "\n" not in text and "\r" not in text:
            lines[above : below + 1] = (made,)
        elif "\r" in text.replace("\r\n", ""):
            break
        else:
            lines[above : below + 1] = made.split("\n")
        count += 1
    return Typed(*_difference(window.before, window.lines, window.begin), count) if count else None


class _Window:
    """The lines around some changes: as they were before, and as the changes have made them.

    Its first line, of which `begin` is the offset, has the number `first` before and now.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self.first = self.begin = 0
        self.before: list[str] = []
        self.lines: list[str] = []

    def reaches(self, first: int, last: int) -> bool:
        """Let the window grow to the lines with these numbers as they are now; whether there are such."""
        if not self.lines:
            return self._grow(first, last)
        below = last - (self.first + len(self.lines) - 1)
        end = self.first + len(self.before) - 1
        return self._grow(min(first, self.first), end + max(below, 0))

    def _grow(self, first: int, last: int) -> bool:
        """Take in the lines with these numbers of the text before all changes; whether there are such."""
        source = self._source
        if first < 0 or last - first > _MOST_LINES:
            return False
        begin = source.line_span(first).start
        if source.place(begin).line != first or source.place(source.line_span(last).start).line != last:
            return False
        old = source.slice(Span(begin, source.line_span(last).end))
        ahead = source.slice(Span(max(begin - 1, 0), begin))
        if "\r" in ahead + old.replace("\r\n", ""):
            return False
        before = old.split("\n")
        above = self.first - first if self.lines else 0
        behind = above + len(self.before)
        if self.lines and behind < len(before) and before[behind - 1].endswith("\r"):
            self.lines[-1] += "\r"  # the last line of a window is without its line end
        self.lines = [*before[:above], *self.lines, *before[behind:]]
        self.before, self.first, self.begin = before, first, begin
        return True


def _column(line: str, units: int, unit: Unit) -> int:
    """The column in a line, of which a return may be left, that lies so many units from its beginning."""
    return column_from_units(line.removesuffix("\r"), units, unit)


def _difference(before: list[str], after: list[str], begin: int) -> tuple[Span, str]:
    """What is to be replaced in lines that begin at the offset `begin`, and by what, to make others of them.

    At least one line of each is compared letter by letter, so that lines which are put in or taken out
    take their line ends with them.
    """
    most = min(len(before), len(after)) - 1
    head = 0
    while head < most and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < most - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    begin += sum([len(line) + 1 for line in before[:head]])
    old, new = ("\n".join(lines[head : len(lines) - tail]) for lines in (before, after))
    left = _shared_start(old, new)
    right = _shared_start(old[left:][::-1], new[left:][::-1])
    return Span(begin + left, begin + len(old) - right), new[left : len(new) - right]


def _shared_start(one: str, other: str) -> int:
    """How many characters two texts have in common at their beginning, found by halves."""
    shared, most = 0, min(len(one), len(other))
    while shared < most:
        middle = (shared + most + 1) // 2
        if one[shared:middle] == other[shared:middle]:
            shared = middle
        else:
            most = middle - 1
    return shared
