"""The source line of a message with a caret below the position."""

from __future__ import annotations

from promptls.cli.output.table import width
from promptls.cli.output.terminal import Colour, paint
from promptls.text.positions import Span, line_end, line_starts, place_of

WIDEST = 100
"""How many characters of a source line are shown; of a longer one, those around the place."""


def excerpt(text: str, span: Span, colour: Colour = "red") -> str:
    """Return two lines: the first source line of `span` with its number, and carets under the stretch.

    A span of several lines is marked to the end of its first; an empty one gets one caret.
    """
    starts = line_starts(text)
    place = place_of(starts, span.start)
    start = starts[place.line]
    end = line_end(text, start)
    line = text[start:end]
    from_column, to_column = place.column, max(min(span.end, end) - start, place.column + 1)

    left = max(0, min(from_column - WIDEST // 3, len(line) - WIDEST)) if len(line) > WIDEST else 0
    shown = _printable(line[left : left + WIDEST])
    cut_left, cut_right = "…" if left else "", "…" if left + WIDEST < len(line) else ""
    before = width(cut_left + _printable(line[left:from_column]))
    marked = max(1, width(_printable(line[from_column : min(to_column, left + WIDEST)])))

    number = str(place.line + 1)
    return (
        f"{paint(f'{number:>5} |', 'blue')} {cut_left}{shown}{cut_right}\n"
        f"{paint('      |', 'blue')} {' ' * before}{paint('^' * marked, colour)}"
    )


def _printable(text: str) -> str:
    # One column for each character keeps the caret under its place, whatever a terminal makes of a tab.
    return "".join(
        " " if character == "\t" else character if character.isprintable() else "�" for character in text
    )
