"""Dataset files: formats by suffix, and rows with their line numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from promptls.datasets import csv_file, json_file, jsonl_file, parquet_file
from promptls.text.errors import FilePlace, UsageError


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
"""The formats by name. The back end `local/<name>` stores datasets in them."""

SUFFIXES: Final = tuple(suffix for each in FORMATS.values() for suffix in each.suffixes)
"""The suffixes of dataset files."""


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
        raise UsageError(
            f"a dataset cannot end in `{file.suffix}`",
            FilePlace(file),
            f"save it as one of {_listed(SUFFIXES)}",
        )
    return DatasetFile(file, found, found.read_columns(file))


def format_of(path: Path) -> Format | None:
    """Return the format for the file's suffix; None if it is unknown."""
    suffix = path.suffix.lower()
    return next((each.format for each in FORMATS.values() if suffix in each.suffixes), None)


def _listed(suffixes: Sequence[str]) -> str:
    return ", ".join(f"`{suffix}`" for suffix in suffixes)
