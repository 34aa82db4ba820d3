"""Dataset files: formats by suffix, rows with their lines, and the datasets that a project knows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from promptls.datasets import csv_file, json_file, jsonl_file, parquet_file
from promptls.datasets.cells import text_cell
from promptls.security.files import cached_by_file, stamp_of
from promptls.text.errors import FilePlace, UsageError, UserError
from promptls.text.format import in_code
from promptls.text.suggest import is_typo


class Format(Protocol):
    """The interface of a file format module."""

    def read_columns(self, path: Path) -> tuple[str, ...]:
        """Return the names of the columns; raises `UserError` if they cannot be read."""

    def read_rows(self, path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield each row's line, counted from 0, and its values; raises `UserError`."""

    def write_rows(self, path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
        """Replace the file atomically; raises OSError."""


class FormatOfFiles(NamedTuple):
    """A format and its file suffixes; new files get the first suffix."""

    format: Format
    suffixes: tuple[str, ...]


FORMATS: Final[dict[str, FormatOfFiles]] = {
    "csv": FormatOfFiles(csv_file, (".csv",)),
    "jsonl": FormatOfFiles(jsonl_file, (".jsonl", ".ndjson")),
    "json": FormatOfFiles(json_file, (".json",)),
    "parquet": FormatOfFiles(parquet_file, (".parquet",)),
}
"""The formats by name. The backend `local/<name>` stores datasets in them."""

SUFFIXES: Final = tuple(suffix for each in FORMATS.values() for suffix in each.suffixes)


@dataclass(frozen=True, slots=True)
class Row:
    """A row: `number` counts from 1, `line` is the line of the file (from 0) on which the row begins.

    `item` is the original object from a program's dataset, such as a pydantic model; None for rows of files.
    """

    number: int
    line: int
    values: Mapping[str, Any]
    item: Any = None

    @property
    def id(self) -> str:
        """The value of the column `id`, or the row's number if that column is missing."""
        value = self.values.get("id")
        return str(value) if value not in {None, ""} else str(self.number)


@dataclass(frozen=True, slots=True)
class DatasetFile:
    """A dataset file with known columns; rows are read lazily."""

    path: Path
    format: Format
    columns: tuple[str, ...]

    def rows(self) -> Iterator[Row]:
        """Yield each row in file order; raises `UserError` with the line that cannot be read.

        Missing values are None. A row may have keys beyond `columns`.
        """
        missing = dict.fromkeys(self.columns)
        for number, (line, values) in enumerate(self.format.read_rows(self.path), start=1):
            yield Row(number, line, {**missing, **values})


def open_dataset(path: Path | str) -> DatasetFile:
    """Open the dataset at `path` in the format determined by its suffix.

    Raises `UsageError` for an unknown suffix or a missing file, and `UserError` if the columns
    cannot be read.
    """
    file = Path(path)
    found = format_of(file)
    if found is None:
        listed = in_code(SUFFIXES)
        raise UsageError(
            f"a dataset cannot end in `{file.suffix}`", FilePlace(file), f"save it as one of {listed}"
        )
    return DatasetFile(file, found, found.read_columns(file))


def format_of(path: Path) -> Format | None:
    """Return the format for the file's suffix; None if it is unknown."""
    suffix = path.suffix.lower()
    return next((each.format for each in FORMATS.values() if suffix in each.suffixes), None)


_FEW: Final = 0.1
"""The largest share of rows that count as exceptions."""
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


@cached_by_file(64)
def known_columns(path: Path) -> KnownColumns:
    """Return the columns of the dataset at `path`; only the beginning of the file is read."""
    try:
        return KnownColumns(tuple(open_dataset(path).columns), None)
    except UserError as failure:
        return KnownColumns((), failure)


@cached_by_file(64)
def known_failure(path: Path) -> UserError | None:
    """Return the error that reading all rows raises, if any; None for files above `MAX_BYTES_FOR_ROWS`."""
    try:
        for _ in open_dataset(path).rows() if _is_read_whole(path, MAX_BYTES_FOR_ROWS) else ():
            pass
    except UserError as failure:
        return failure
    return None


@cached_by_file(16)
def rows_by_values(path: Path, columns: tuple[str, ...]) -> Mapping[tuple[str, ...], RowPlace]:
    """Return the first row for each combination of values of these columns, compared as stripped text.

    Empty for files above `MAX_BYTES` and for files that cannot be read completely.
    """
    found: dict[tuple[str, ...], RowPlace] = {}
    for row in all_rows(path):
        if all(column in row.values for column in columns):
            key = tuple(as_text(row.values[column]) for column in columns)
            found.setdefault(key, RowPlace(row.number, row.line))
    return found


@cached_by_file(16)
def row_lines(path: Path) -> Mapping[int, int]:
    """Return the line (from 0) on which each row begins, by row number (from 1); see `rows_by_values`."""
    return {row.number: row.line for row in all_rows(path)}


def all_rows(path: Path, limit: int = MAX_BYTES) -> list[Row]:
    """Return the rows of a file up to `limit` bytes; nothing if any of them cannot be read."""
    try:
        return list(open_dataset(path).rows()) if _is_read_whole(path, limit) else []
    except UserError:
        return []


def as_text(value: Any) -> str:
    """Return a value as it appears in a text-based dataset, with line endings normalized as in YAML.

    Lists and mappings, also in a cell of a CSV file, are JSON in one layout.
    """
    if isinstance(value, str) and value[:1] in {"[", "{"}:
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    return text_cell(value).replace("\r\n", "\n").strip()


def _is_read_whole(path: Path, limit: int = MAX_BYTES) -> bool:
    stamp = stamp_of(path)
    return stamp is not None and stamp.size <= limit


@cached_by_file(16)
def row_with_typo(path: Path, column: str) -> tuple[Row, str] | None:
    """Return the first row without a value in a column that has one under a similar name, and this name."""
    for row in all_rows(path, MAX_BYTES_FOR_ROWS):
        if row.values.get(column) is None:
            names = (name for name, value in row.values.items() if value is not None)
            similar = next((name for name in names if is_typo(name, column)), None)
            if similar is not None:
                return row, similar
    return None


@cached_by_file(16)
def row_without(path: Path, column: str) -> Row | None:
    """Return the first row that lacks a column which nearly all others have; None for a CSV file."""
    rows = list(all_rows(path, MAX_BYTES_FOR_ROWS)) if path.suffix.lower() != ".csv" else []
    without = [row for row in rows if row.values.get(column) is None]
    is_few = len(without) <= max(1, len(rows) * _FEW) and len(rows) > len(without) + 1
    return without[0] if without and is_few else None


@cached_by_file(16)
def short_row(path: Path) -> tuple[RowPlace, str] | None:
    """Return the first row of a CSV file that lacks cells at its end, and the first column that it lacks.

    None if more than a few rows do: some programs leave out empty cells at the end of a row.
    """
    if path.suffix.lower() != ".csv" or not _is_read_whole(path, MAX_BYTES_FOR_ROWS):
        return None
    try:
        columns = csv_file.read_columns(path)
        rows = list(csv_file.lengths_of_rows(path))[1:]
    except UserError:
        return None
    short = [index for index, (_, length) in enumerate(rows) if length < len(columns)]
    if not short or len(short) == len(rows) or len(short) > max(1, len(rows) * _FEW):
        return None
    line, length = rows[short[0]]
    return RowPlace(short[0] + 1, line), columns[length]
