"""JSON Lines files: one JSON object a line, whose keys are the columns."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from promptls.datasets.dataset import Row
from promptls.datasets.failures import not_utf8, opened
from promptls.text.failure import Failure, FilePlace


@dataclass(frozen=True, slots=True)
class JsonlFile:
    """A JSON Lines file in UTF-8; values keep the types that JSON gives them."""

    path: Path
    columns: tuple[str, ...]

    def rows(self) -> Iterator[Row]:
        """Each row, read while it is asked for; a key that a row lacks is None."""
        for number, (line, values) in enumerate(row_objects(self.path), start=1):
            yield Row(number, line, {column: values.get(column) for column in self.columns})


def open_file(path: Path) -> JsonlFile:
    """The data set in the file at `path`; its columns are the keys of all rows, in order of appearance."""
    columns: dict[str, None] = {}
    for _, values in row_objects(path):
        columns.update(dict.fromkeys(values))
    if not columns:
        raise Failure(
            "the data set is empty", FilePlace(path), 'write one JSON object a line: `{"text": "…"}`'
        )
    return JsonlFile(path, tuple(columns))


def row_objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each object, with its line from 0; raises Failure at a line that is none."""
    with opened(path) as stream:
        try:
            for line, text in enumerate(stream):
                if text.strip():
                    yield line, _object(path, line, text)
        except UnicodeDecodeError as error:
            raise not_utf8(path, error) from None


def _object(path: Path, line: int, text: str) -> dict[str, Any]:
    try:
        values = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        column = error.colno - 1 if isinstance(error, json.JSONDecodeError) else None
        raise Failure(
            "the line is not valid JSON", FilePlace(path, line, column), "write one JSON object a line"
        ) from None
    if not isinstance(values, dict):
        raise Failure("the line is not a JSON object", FilePlace(path, line), 'write `{"column": value}`')
    return values
