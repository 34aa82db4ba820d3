"""JSON files that hold a list of objects, whose keys are the columns. They are read as a whole."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from json import JSONDecodeError, JSONDecoder
from pathlib import Path
from typing import Any, Final

from promptls.datasets.dataset import Row
from promptls.datasets.failures import not_utf8, opened
from promptls.text.failure import Failure, FilePlace

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_BETWEEN: Final = re.compile(r"[ \t\r\n]*,[ \t\r\n]*")


@dataclass(frozen=True, slots=True)
class JsonFile:
    """A JSON file in UTF-8; values keep the types that JSON gives them."""

    path: Path
    columns: tuple[str, ...]

    def rows(self) -> Iterator[Row]:
        """Each row; a key that a row lacks is None."""
        for number, (line, values) in enumerate(row_objects(self.path), start=1):
            yield Row(number, line, {column: values.get(column) for column in self.columns})


def open_file(path: Path) -> JsonFile:
    """The data set in the file at `path`; its columns are the keys of all rows, in order of appearance."""
    columns = dict.fromkeys(key for _, values in row_objects(path) for key in values)
    if not columns:
        raise Failure("the data set is empty", FilePlace(path), 'write a list of objects: [{"text": "…"}]')
    return JsonFile(path, tuple(columns))


def row_objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each object of the list, with the line, from 0, on which it begins."""
    with opened(path) as stream:
        try:
            text = stream.read()
        except UnicodeDecodeError as error:
            raise not_utf8(path, error) from None
    position = _end(_SPACE, text, 0)
    if text[position : position + 1] != "[":
        raise Failure("the data set is no list of objects", FilePlace(path, 0), 'write [{"text": "…"}, …]')
    position = _end(_SPACE, text, position + 1)
    decoder, counted, line = JSONDecoder(), 0, 0
    while text[position : position + 1] != "]":
        line += text.count("\n", counted, position)
        counted = position
        try:
            value, end = decoder.raw_decode(text, position)
        except (JSONDecodeError, RecursionError) as error:
            raise _broken(path, text, error.pos if isinstance(error, JSONDecodeError) else position) from None
        if not isinstance(value, dict):
            raise Failure("an item is no JSON object", FilePlace(path, line), 'write {"column": value}')
        yield line, value
        between = _BETWEEN.match(text, end)
        position = between.end() if between else _end(_SPACE, text, end)
        if between is None and text[position : position + 1] != "]":
            raise _broken(path, text, position)


def _end(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return match.end() if match else position


def _broken(path: Path, text: str, position: int) -> Failure:
    error = json.JSONDecodeError("", text, position)
    place = FilePlace(path, error.lineno - 1, error.colno - 1)
    return Failure("the data set is not valid JSON from here on", place, "mend the list of objects")
