"""Output on the terminal: colors, errors, paths, JSON and tables."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TextIO, TypeAlias

from promptls.cli.safe_stream import SafeStream, style_text
from promptls.text.errors import FilePlace
from promptls.text.escape import for_json_output, for_terminal_line
from promptls.text.format import lower_first

if TYPE_CHECKING:
    from promptls.rendering.outcome import RenderFailure


Color: TypeAlias = Literal["red", "yellow", "blue", "cyan", "green", "bold", "dim"]

_CODES: dict[Color, str] = {
    "bold": "1",
    "dim": "2",
    "red": "1;31",
    "green": "32",
    "yellow": "1;33",
    "blue": "1;34",
    "cyan": "36",
}


def wants_color(stream: TextIO) -> bool:
    """Return whether to write colors to `stream`.

    A terminal gets colors unless NO_COLOR is set; anything else only if FORCE_COLOR is set.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def paint(text: str, color: Color, stream: TextIO | None = None) -> str:
    """Return `text` in `color`, or unchanged if `stream` (by default the standard output) has no colors.

    Only a `SafeStream` interprets the color marks; foreign text in it has no effect.
    """
    stream = stream or sys.stdout
    has_colors = wants_color(stream) and isinstance(stream, SafeStream)
    return style_text(text, _CODES[color]) if text and has_colors else text


def shown_path(path: Path | str) -> str:
    """Return `path`, relative to the working directory if it is below that."""
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)


def printed_path(path: Path | str) -> str:
    """Return `shown_path` on one line, for display only."""
    return for_terminal_line(shown_path(path))


def error(message: str, place: FilePlace | None = None, remedy: str | None = None) -> None:
    """Print the problem, its location and the remedy on the standard error stream."""
    stream = sys.stderr
    print(f"{paint('promptls:', 'red', stream)} {paint(message, 'bold', stream)}", file=stream)
    if place is not None:
        shown = place._replace(path=printed_path(place.path)).text()
        print(f"  at {paint(shown, 'cyan', stream)}", file=stream)
    if remedy:
        print(f"  → {remedy}", file=stream)


def print_json(value: Any) -> None:
    """Print `value` as JSON, formatted by `json_text`."""
    sys.stdout.write(json_text(value))


def json_text(value: Any) -> str:
    """Return `value` as indented JSON, unescaped if the encoding of the standard output allows it."""
    unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    written = json.dumps(value, indent=2, ensure_ascii=not unicode, default=str)
    return for_json_output(written) + "\n"


def open_closed_streams() -> None:
    """Open the null device for each standard stream that was closed when the process started.

    Python sets them to None, and the first files opened would become the standard streams of child processes.
    """
    for name, number in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened == number:
                os.set_inheritable(opened, True)  # noqa: FBT003 - the parameter has no name
            stream = os.fdopen(opened, "r" if name == "stdin" else "w", encoding="utf-8", closefd=False)
            setattr(sys, name, stream)


def survive_any_encoding() -> None:
    """Make the standard streams replace characters outside of their encoding, instead of raising."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


def print_failure(failure: RenderFailure, path: str) -> None:
    """Print why a prompt does not render, with the rendered lines if there are any."""
    message = failure.message.rstrip(".")
    if message.partition(" ")[0][1:].islower():  # an ordinary word, unlike `YAML` or `KeyError:`
        message = lower_first(message)
    error(message, FilePlace(failure.path or path, failure.line))
    if failure.excerpt:
        print(f"\n  what Jinja made there:\n{indent_text(failure.excerpt.rstrip())}", file=sys.stderr)


def indent_text(text: str, by: int = 4) -> str:
    """Return the text with each line indented by a number of spaces, and without trailing white space."""
    return "\n".join(f"{' ' * by}{line}".rstrip() for line in text.split("\n"))


Side: TypeAlias = Literal["left", "right"]


class Column(NamedTuple):
    """A column's heading, and the alignment of its cells."""

    heading: str
    side: Side = "left"


class TableRow(NamedTuple):
    """The cells of a row, and their color."""

    cells: Sequence[str]
    color: Color | None = None


def table(columns: Sequence[Column], rows: Iterable[TableRow]) -> str:
    """Return the table as text without a trailing line break; headings are dim, and each row is one line."""
    body = [TableRow([for_terminal_line(cell) for cell in row.cells], row.color) for row in rows]
    lines = [TableRow([for_terminal_line(column.heading) for column in columns], "dim"), *body]
    widths = [max(width(row.cells[index]) for row in lines) for index in range(len(columns))]
    return "\n".join(_line(row, columns, widths) for row in lines)


def width(text: str) -> int:
    """Return the width of `text` in terminal columns: East Asian characters take two."""
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
    return paint(line, row.color) if row.color else line
