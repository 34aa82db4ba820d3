"""Output on the terminal: colours, errors, paths, JSON and tables."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TextIO, TypeAlias

from promptls.cli.safe_stream import SafeStream, styled
from promptls.text.errors import FilePlace
from promptls.text.escape import for_json_output, for_terminal_line

if TYPE_CHECKING:
    from promptls.rendering.outcome import RenderFailure


Colour: TypeAlias = Literal["red", "yellow", "blue", "cyan", "green", "bold", "dim"]

_CODES: dict[Colour, str] = {
    "bold": "1",
    "dim": "2",
    "red": "1;31",
    "green": "32",
    "yellow": "1;33",
    "blue": "1;34",
    "cyan": "36",
}


def wants_colour(stream: TextIO) -> bool:
    """Return whether `stream` is to get colours.

    A terminal is, unless NO_COLOR is set; anything else is only under FORCE_COLOR.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def paint(text: str, colour: Colour, stream: TextIO | None = None) -> str:
    """`text` in `colour`, or as it is where `stream` (by default the standard output) gets no colours.

    Only a `SafeStream` knows the marks of colours; foreign text in it stays without effect.
    """
    stream = stream or sys.stdout
    has_colours = wants_colour(stream) and isinstance(stream, SafeStream)
    return styled(text, _CODES[colour]) if text and has_colours else text


def shown_path(path: Path | str) -> str:
    """`path` as it is shortest to read: from the current folder where it lies below that."""
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)


def printed_path(path: Path | str) -> str:
    """`shown_path` on one line: for people, and not for programs that open the file."""
    return for_terminal_line(shown_path(path))


def error(message: str, place: FilePlace | None = None, remedy: str | None = None) -> None:
    """Print what is wrong, where, and what to do, on the standard error stream."""
    stream = sys.stderr
    print(f"{paint('promptls:', 'red', stream)} {paint(message, 'bold', stream)}", file=stream)
    if place is not None:
        shown = place._replace(path=printed_path(place.path)).text()
        print(f"  at {paint(shown, 'cyan', stream)}", file=stream)
    if remedy:
        print(f"  → {remedy}", file=stream)


def print_json(value: Any) -> None:
    """Print `value` as JSON, as `json_text` writes it."""
    sys.stdout.write(json_text(value))


def json_text(value: Any) -> str:
    """`value` as JSON, indented, with its characters as they are where the standard output can carry them."""
    unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    written = json.dumps(value, indent=2, ensure_ascii=not unicode, default=str)
    return for_json_output(written) + "\n"


def open_closed_streams() -> None:
    """Open the null device for each standard stream that whoever started the process has closed.

    Python has None for them; and the first file that is opened would become what a child reads or writes.
    """
    for name, number in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened == number:
                os.set_inheritable(opened, True)  # noqa: FBT003 - the parameter has no name
            stream = os.fdopen(opened, "r" if name == "stdin" else "w", encoding="utf-8", closefd=False)
            setattr(sys, name, stream)


def survive_any_encoding() -> None:
    """Make the standard streams replace what their encoding cannot say, in place of raising."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


def print_failure(failure: RenderFailure, path: str) -> None:
    """Print why a prompt does not render, with the rendered lines where there are any."""
    message = failure.message.rstrip(".")
    if message.partition(" ")[0][1:].islower():  # a word, and neither `YAML` nor `KeyError:`
        message = message[:1].lower() + message[1:]
    error(message, FilePlace(failure.path or path, failure.line))
    if failure.excerpt:
        print(f"\n  what Jinja made there:\n{indented(failure.excerpt.rstrip())}", file=sys.stderr)


def indented(text: str, by: int = 4) -> str:
    """Return the text with each line indented by so many spaces and without trailing white space."""
    return "\n".join(f"{' ' * by}{line}".rstrip() for line in text.split("\n"))


Side: TypeAlias = Literal["left", "right"]


class Column(NamedTuple):
    """A column's heading, and the side that its cells keep to."""

    heading: str
    side: Side = "left"


class TableRow(NamedTuple):
    """The cells of a row, and the colour of all of them."""

    cells: Sequence[str]
    colour: Colour | None = None


def table(columns: Sequence[Column], rows: Iterable[TableRow]) -> str:
    """Return the table as text without a line end behind it; the headings are dim, and a row is one line."""
    body = [TableRow([for_terminal_line(cell) for cell in row.cells], row.colour) for row in rows]
    lines = [TableRow([for_terminal_line(column.heading) for column in columns], "dim"), *body]
    widths = [max(width(row.cells[index]) for row in lines) for index in range(len(columns))]
    return "\n".join(_line(row, columns, widths) for row in lines)


def width(text: str) -> int:
    """Return how many columns of a terminal `text` takes: East Asian characters take two."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _line(row: TableRow, columns: Sequence[Column], widths: Sequence[int]) -> str:
    cells = []
    for column, cell, wide in zip(columns, row.cells, widths, strict=True):
        blank = " " * (wide - width(cell))
        cells.append(blank + cell if column.side == "right" else cell + blank)
    line = "  ".join(cells).rstrip()
    return paint(line, row.colour) if row.colour else line
