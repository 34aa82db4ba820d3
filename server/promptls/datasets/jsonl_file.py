"""JSON Lines files: one JSON object per line, whose keys are the columns."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from promptls.datasets import cells
from promptls.security.written_files import replace_file
from promptls.text.errors import FilePlace, UserError


def read_columns(path: Path) -> tuple[str, ...]:
    """Return the keys of the first rows, in order of appearance."""
    rows = read_rows(path, cells.MAX_CHARACTERS_FOR_COLUMNS)
    return cells.keys_of_first(path, rows, 'write one JSON object per line: `{"text": "…"}`')


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Replace the file atomically with one object per line; raises OSError."""
    with replace_file(path) as stream:
        stream.writelines(f"{cells.json_line(cells.flat_row(row))}\n" for row in rows)


def read_rows(path: Path, limit: int | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield each object with its line, counted from 0; raises UserError for a line that is not an object.

    With `limit`, stop after the object at which that many characters have been read.
    """
    read = 0
    with cells.open_cells(path) as stream:
        try:
            for line, text in enumerate(cells.lines(path, stream)):
                read += len(text)
                if text.strip():
                    yield line, _object(path, line, text)
                if limit is not None and read >= limit:
                    return
        except UnicodeDecodeError as error:
            raise cells.not_utf8(path, error) from None


def _object(path: Path, line: int, text: str) -> dict[str, Any]:
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        column = error.colno - 1 if isinstance(error, json.JSONDecodeError) else None
        raise UserError(
            "the line is not valid JSON", FilePlace(path, line, column), "write one JSON object per line"
        ) from None
    if not isinstance(values, dict):
        raise UserError("the line is not a JSON object", FilePlace(path, line), 'write `{"column": value}`')
    return values
