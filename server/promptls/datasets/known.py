"""Cached facts about datasets, which are read again only when the file has changed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from promptls.datasets.files import open_dataset
from promptls.security.files import kept_by_file, stamp_of
from promptls.text.errors import UserError

MAX_BYTES: Final = 2_000_000
"""Maximum size of files that are read as a whole while the user types."""
MAX_BYTES_FOR_ROWS: Final = 500_000
"""Maximum size of files that are read as a whole to find unreadable rows."""


class KnownColumns(NamedTuple):
    """The columns of a dataset, or the error that reading them raised."""

    columns: tuple[str, ...]
    failure: UserError | None


class RowPlace(NamedTuple):
    """A row's number, counted from 1, and the line on which it begins, counted from 0."""

    number: int
    line: int


def known_columns(path: Path) -> KnownColumns:
    """Return the columns of the dataset at `path`; only the beginning of the file is read."""
    return _columns(path)


def known_failure(path: Path) -> UserError | None:
    """Return the error that reading all rows raises, if any; None for files above `MAX_BYTES_FOR_ROWS`."""
    return _failure(path) if _is_read_whole(path, MAX_BYTES_FOR_ROWS) else None


def rows_by_values(path: Path, columns: tuple[str, ...]) -> Mapping[tuple[str, ...], RowPlace]:
    """Return the first row for each combination of values of these columns, compared as stripped text.

    Empty for files above `MAX_BYTES` and for files that cannot be read completely.
    """
    return _rows(path, columns) if _is_read_whole(path) else {}


def row_lines(path: Path) -> Mapping[int, int]:
    """Return the line (from 0) on which each row begins, by row number (from 1); see `rows_by_values`."""
    return _lines(path) if _is_read_whole(path) else {}


def as_text(value: Any) -> str:
    """Return a value as it appears in a text-based dataset, with line endings normalized as in YAML."""
    return str(value).replace("\r\n", "\n").strip()


def _is_read_whole(path: Path, most: int = MAX_BYTES) -> bool:
    stamp = stamp_of(path)
    return stamp is not None and stamp.size <= most


@kept_by_file(64)
def _columns(path: Path) -> KnownColumns:
    try:
        return KnownColumns(tuple(open_dataset(path).columns), None)
    except UserError as failure:
        return KnownColumns((), failure)


@kept_by_file(64)
def _failure(path: Path) -> UserError | None:
    try:
        for _ in open_dataset(path).rows():
            pass
    except UserError as failure:
        return failure
    return None


@kept_by_file(16)
def _rows(path: Path, columns: tuple[str, ...]) -> Mapping[tuple[str, ...], RowPlace]:
    found: dict[tuple[str, ...], RowPlace] = {}
    try:
        for row in open_dataset(path).rows():
            if all(column in row.values for column in columns):
                key = tuple(as_text(row.values[column]) for column in columns)
                found.setdefault(key, RowPlace(row.number, row.line))
    except UserError:
        return {}
    return found


@kept_by_file(16)
def _lines(path: Path) -> Mapping[int, int]:
    try:
        return {row.number: row.line for row in open_dataset(path).rows()}
    except UserError:
        return {}
