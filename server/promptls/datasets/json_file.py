"""JSON files that contain a list of objects, whose keys are the columns. Files are read as a whole."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from json import JSONDecodeError, JSONDecoder
from pathlib import Path
from typing import Any, Final

from promptls.datasets import cells
from promptls.security.written_files import replace_file
from promptls.text.errors import FilePlace, UserError

MAX_CHARACTERS: Final = 50_000_000
"""Maximum size of a file in characters; longer files are rejected."""
_SPACE: Final = re.compile(r"[ \t\r\n]*")
_BETWEEN: Final = re.compile(r"[ \t\r\n]*,[ \t\r\n]*")


def read_columns(path: Path) -> tuple[str, ...]:
    """Return the keys of the first rows, in order of appearance."""
    rows = read_rows(path, cells.MAX_CHARACTERS_FOR_COLUMNS)
    return cells.keys_of_first(path, rows, 'write a list of objects: [{"text": "…"}]')


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Replace the file atomically with a list of objects; raises OSError."""
    with replace_file(path) as stream:
        json.dump(cells.flat_rows(rows), stream, ensure_ascii=False, indent=1, default=cells.json_value)
        stream.write("\n")


def read_rows(path: Path, limit: int | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield each object of the list with the line on which it begins, counted from 0.

    With `limit`, stop after the object at which that many characters have been read.
    """
    with cells.open_cells(path) as stream:
        try:
            text = stream.read(MAX_CHARACTERS + 1)
        except UnicodeDecodeError as error:
            raise cells.not_utf8(path, error) from None
    if len(text) > MAX_CHARACTERS:
        raise UserError(
            f"the dataset has more than {MAX_CHARACTERS:,} characters, and is read whole",
            FilePlace(path),
            "save it as JSON Lines (`.jsonl`) or CSV, which are read row by row",
        )
    position = _after_space(text, 0)
    if text[position : position + 1] != "[":
        raise UserError(
            "the dataset is not a list of objects", FilePlace(path, 0), 'write [{"text": "…"}, …]'
        )
    position = _after_space(text, position + 1)
    decoder, counted, line = JSONDecoder(), 0, 0
    while text[position : position + 1] != "]":
        line += text.count("\n", counted, position)
        counted = position
        try:
            value, end = decoder.raw_decode(text, position)
        except (ValueError, RecursionError) as error:
            raise _broken(path, text, error.pos if isinstance(error, JSONDecodeError) else position) from None
        if not isinstance(value, dict):
            raise UserError("an item is not a JSON object", FilePlace(path, line), 'write {"column": value}')
        yield line, value
        if limit is not None and end >= limit:
            return
        between = _BETWEEN.match(text, end)
        position = between.end() if between else _after_space(text, end)
        if between is None and text[position : position + 1] != "]":
            raise _broken(path, text, position)


def _after_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _broken(path: Path, text: str, position: int) -> UserError:
    error = json.JSONDecodeError("", text, position)
    place = FilePlace(path, error.lineno - 1, error.colno - 1)
    return UserError("the dataset is not valid JSON from here on", place, "fix the list of objects")
