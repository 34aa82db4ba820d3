"""Plain text tables: minimal column widths, numbers aligned right, no lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, TypeAlias

from promptls.cli.output.terminal import Colour, paint
from promptls.text.escape import for_terminal_line

Side: TypeAlias = Literal["left", "right"]


class Column(NamedTuple):
    """A column's heading, and the side that its cells keep to."""

    heading: str
    side: Side = "left"


class Row(NamedTuple):
    """The cells of a row, and the colour of all of them."""

    cells: Sequence[str]
    colour: Colour | None = None


def table(columns: Sequence[Column], rows: Iterable[Row]) -> str:
    """Return the table as text without a line end behind it; the headings are dim, and a row is one line."""
    body = [Row([for_terminal_line(cell) for cell in row.cells], row.colour) for row in rows]
    lines = [Row([for_terminal_line(column.heading) for column in columns], "dim"), *body]
    widths = [max(width(row.cells[index]) for row in lines) for index in range(len(columns))]
    return "\n".join(_line(row, columns, widths) for row in lines)


def width(text: str) -> int:
    """Return how many columns of a terminal `text` takes: East Asian characters take two."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _line(row: Row, columns: Sequence[Column], widths: Sequence[int]) -> str:
    cells = []
    for column, cell, wide in zip(columns, row.cells, widths, strict=True):
        blank = " " * (wide - width(cell))
        cells.append(blank + cell if column.side == "right" else cell + blank)
    line = "  ".join(cells).rstrip()
    return paint(line, row.colour) if row.colour else line
