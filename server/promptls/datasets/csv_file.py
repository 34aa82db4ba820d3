"""CSV files: the first row names the columns, every further row is a row of strings."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from promptls.datasets.cells import (
    MAX_LINE,
    check_number_of_columns,
    columns_of,
    flat_rows,
    lines,
    not_utf8,
    open_cells,
    text_cell,
)
from promptls.security.written_files import replace_file
from promptls.text.errors import FilePlace, UserError

# The csv module's default limit of 128 KiB is too small for long documents in a cell; without a limit, an
# unclosed quote would read the whole file into memory.
csv.field_size_limit(MAX_LINE)


def read_columns(path: Path) -> tuple[str, ...]:
    """Return the names of the columns; raises `UserError` if they cannot be determined."""
    with open_cells(path) as stream:
        found = _Cells(path, stream).next_filled()
    if found is None:
        raise UserError(
            "the dataset is empty",
            FilePlace(path),
            "write the names of the columns on the first line, and a row on each further line",
        )
    line, columns = found
    check_number_of_columns(path, len(columns))
    seen: set[str] = set()
    for index, name in enumerate(columns):
        if not name.strip():
            raise UserError(
                f"column {index + 1} has no name",
                FilePlace(path, line),
                "name every column on the first line, or remove the extra comma",
            )
        if name in seen:
            raise UserError(f"two columns are named `{name}`", FilePlace(path, line), "rename one of them")
        seen.add(name)
    return tuple(columns)


def read_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield each row's line number and values; an empty file has no rows.

    Missing cells at the end of a row are empty. A row with more cells than columns raises
    `UserError`, because its cells cannot be assigned to columns.
    """
    with open_cells(path) as stream:
        cells = _Cells(path, stream)
        header = cells.next_filled()
        columns = header[1] if header is not None else []
        while (found := cells.next_filled()) is not None:
            line, row = found
            if len(row) > len(columns):
                raise UserError(
                    f"the row has {len(row)} cells, but the file has {len(columns)} columns",
                    FilePlace(path, line),
                    "put a cell that contains a comma into double quotes, or remove the extra cell",
                )
            filled = row + [""] * (len(columns) - len(row))
            yield line, dict(zip(columns, filled, strict=True))


def lengths_of_rows(path: Path) -> Iterator[tuple[int, int]]:
    """Yield each row's line number, from 0, and its number of cells, the names of the columns first."""
    with open_cells(path) as stream:
        cells = _Cells(path, stream)
        while (found := cells.next_filled()) is not None:
            yield found[0], len(found[1])


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Replace the file atomically with the columns of all rows, in order of appearance; raises OSError.

    A value that a row lacks is an empty cell; lists and mappings are JSON.
    """
    flat = flat_rows(rows)
    columns = columns_of(flat)
    with replace_file(path) as stream:
        if columns:
            writer = csv.writer(stream, lineterminator="\r\n")
            writer.writerow(columns)
            # A single empty cell is quoted; otherwise its row would be a blank line.
            writer.writerows([text_cell(row.get(column)) for column in columns] for row in flat)


class _Cells:
    """The rows of a CSV file as lists of cells, with the line in which each begins."""

    def __init__(self, path: Path, stream: TextIO) -> None:
        self._path = path
        self._reader = csv.reader(lines(path, stream), strict=True)

    def next_filled(self) -> tuple[int, list[str]] | None:
        """Return the line number and cells of the next non-blank row, or None at the end."""
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
            elif "field larger" in str(error):
                message = f"a cell has more than {MAX_LINE:,} characters"
                remedy = "close its quote, if that is missing, or shorten it"
            elif "expected after" in str(error):
                message = "text follows the closing quote of a cell"
                remedy = 'write a quote inside a cell twice: `""`'
            else:
                message = f"the row cannot be read: {error}"
                remedy = "save the file as CSV in UTF-8"
            raise UserError(message, FilePlace(self._path, line), remedy) from None
