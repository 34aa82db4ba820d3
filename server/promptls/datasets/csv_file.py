"""CSV files: the first row names the columns, every further row is a row of strings."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from promptls.datasets.dataset import Row
from promptls.datasets.failures import not_utf8, opened
from promptls.text.failure import Failure, FilePlace

# The module's own limit of 128 KiB is smaller than a long document in a cell.
csv.field_size_limit(2**31 - 1)


@dataclass(frozen=True, slots=True)
class CsvFile:
    """An RFC 4180 file in UTF-8, with or without a byte order mark."""

    path: Path
    columns: tuple[str, ...]

    def rows(self) -> Iterator[Row]:
        """Each row, read while it is asked for.

        Cells that a row lacks at its end are empty. A row with more cells than there are columns
        raises `Failure`, because nobody can know which cell is meant to stand where.
        """
        with opened(self.path) as stream:
            cells = _Cells(self.path, stream)
            cells.next_filled()
            number = 0
            while (found := cells.next_filled()) is not None:
                line, row = found
                if len(row) > len(self.columns):
                    raise Failure(
                        f"the row has {len(row)} cells, but the file has {len(self.columns)} columns",
                        FilePlace(self.path, line),
                        "put a cell that contains a comma into double quotes, or remove the extra cell",
                    )
                number += 1
                filled = row + [""] * (len(self.columns) - len(row))
                yield Row(number, line, dict(zip(self.columns, filled, strict=True)))


def open_file(path: Path) -> CsvFile:
    """The data set in the file at `path`; raises `Failure` when its columns cannot be known."""
    with opened(path) as stream:
        found = _Cells(path, stream).next_filled()
    if found is None:
        raise Failure(
            "the data set is empty",
            FilePlace(path),
            "write the names of the columns on the first line, and a row on each further line",
        )
    line, columns = found
    for index, name in enumerate(columns):
        if not name.strip():
            raise Failure(
                f"column {index + 1} has no name",
                FilePlace(path, line),
                "name every column on the first line, or remove the extra comma",
            )
        if name in columns[:index]:
            raise Failure(f"two columns are named `{name}`", FilePlace(path, line), "rename one of them")
    return CsvFile(path, tuple(columns))


class _Cells:
    """The rows of a CSV file as lists of cells, with the line in which each begins."""

    def __init__(self, path: Path, stream: TextIO) -> None:
        self._path = path
        self._reader = csv.reader(stream, strict=True)

    def next_filled(self) -> tuple[int, list[str]] | None:
        """The line and the cells of the next row that is no blank line, or None at the end."""
        while True:
            line = self._reader.line_num
            with self._explained(line):
                try:
                    row = next(self._reader)
                except StopIteration:
                    return None
            if row:
                return line, row

    @contextmanager
    def _explained(self, line: int) -> Iterator[None]:
        try:
            yield
        except UnicodeDecodeError as error:
            raise not_utf8(self._path, error) from None
        except csv.Error as error:
            if "unexpected end of data" in str(error):
                message = "a quoted cell is never closed"
                remedy = 'close the cell with `"`; a quote inside a cell is written twice: `""`'
            elif "expected after" in str(error):
                message = "text follows the closing quote of a cell"
                remedy = 'write a quote inside a cell twice: `""`'
            else:
                message = f"the row cannot be read: {error}"
                remedy = "save the file as CSV in UTF-8"
            raise Failure(message, FilePlace(self._path, line), remedy) from None
