"""`local/csv`: one CSV file each. Every value is text when it is read again; lists and mappings are JSON."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from promptls.datasets.atomic import replaced
from promptls.datasets.backends.backend import RowData, columns_of
from promptls.datasets.backends.cells import flat_rows, text_cell
from promptls.datasets.backends.local import LocalBackend
from promptls.datasets.csv_file import open_file


class LocalCsv(LocalBackend):
    """CSV in UTF-8, with the columns of all rows in the order in which they first appear."""

    ending = ".csv"

    def read(self, path: Path) -> Iterator[RowData]:
        """As in LocalBackend; a missing cell is an empty text."""
        if path.stat().st_size:
            yield from (dict(row.values) for row in open_file(path).rows())

    def write(self, path: Path, rows: Sequence[RowData]) -> None:
        """As in LocalBackend; a value that a row lacks is an empty cell."""
        flat = flat_rows(rows)
        columns = columns_of(flat)
        with replaced(path) as stream:
            if columns:
                writer = csv.writer(stream, lineterminator="\r\n")
                writer.writerow(columns)
                # A single empty cell is written in quotes, or its row would be a blank line.
                writer.writerows([text_cell(row.get(column)) for column in columns] for row in flat)
