"""What a data set holds, looked up again only when its file has changed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from promptls.datasets.registry import open_dataset
from promptls.text.failure import Failure

MOST_BYTES: Final = 2_000_000
"""Files above this size are not read whole while somebody types."""


class KnownColumns(NamedTuple):
    """The columns of a data set, or the failure that reading them gave."""

    columns: tuple[str, ...]
    failure: Failure | None


class Place(NamedTuple):
    """A row's number, from 1, and the line on which it begins, from 0."""

    number: int
    line: int


def known_columns(path: Path) -> KnownColumns:
    """The columns of the data set at `path`; of a file only its beginning is read."""
    return _columns(str(path), *_stamp(path))


def rows_by_values(path: Path, columns: tuple[str, ...]) -> Mapping[tuple[str, ...], Place]:
    """The first row with each combination of values in these columns, as text without white space around.

    Empty for files above `MOST_BYTES`, and for those that cannot be read to their end.
    """
    changed, size = _stamp(path)
    return _rows(str(path), changed, size, columns) if 0 <= size <= MOST_BYTES else {}


def row_lines(path: Path) -> Mapping[int, int]:
    """The line, from 0, on which each row begins, by its number, from 1; empty as `rows_by_values`."""
    changed, size = _stamp(path)
    return _lines(str(path), changed, size) if 0 <= size <= MOST_BYTES else {}


def as_text(value: Any) -> str:
    """A value as a data set in text would hold it."""
    return str(value).strip()


def _stamp(path: Path) -> tuple[int, int]:
    """The time and size of a file, which change when it does; a size of -1 where there is none."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return 0, -1
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=64)
def _columns(path: str, _changed: int, _size: int) -> KnownColumns:
    try:
        return KnownColumns(tuple(open_dataset(path).columns), None)
    except Failure as failure:
        return KnownColumns((), failure)


@lru_cache(maxsize=16)
def _rows(path: str, _changed: int, _size: int, columns: tuple[str, ...]) -> Mapping[tuple[str, ...], Place]:
    found: dict[tuple[str, ...], Place] = {}
    try:
        for row in open_dataset(path).rows():
            if all(column in row.values for column in columns):
                key = tuple(as_text(row.values[column]) for column in columns)
                found.setdefault(key, Place(row.number, row.line))
    except Failure:
        return {}
    return found


@lru_cache(maxsize=16)
def _lines(path: str, _changed: int, _size: int) -> Mapping[int, int]:
    try:
        return {row.number: row.line for row in open_dataset(path).rows()}
    except Failure:
        return {}
