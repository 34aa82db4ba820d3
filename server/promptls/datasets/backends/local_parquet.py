"""`local/parquet`: one Parquet file each, through pyarrow, which the extra `parquet` installs."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from promptls.datasets.backends.backend import RowData, columns_of
from promptls.datasets.backends.cells import flat_rows, text_cell
from promptls.datasets.backends.local import LocalBackend
from promptls.datasets.parquet_file import pyarrow_module, row_batches


class LocalParquet(LocalBackend):
    """A column whose values have no type in common is kept as text."""

    ending = ".parquet"

    def read(self, path: Path) -> Iterator[RowData]:
        """As in LocalBackend."""
        return row_batches(path)

    def write(self, path: Path, rows: Sequence[RowData]) -> None:
        """As in LocalBackend."""
        arrow = pyarrow_module("pyarrow")
        flat = flat_rows(rows)
        table = arrow.table({column: _array(arrow, flat, column) for column in columns_of(flat)})
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".") as folder:
            temporary = Path(folder) / path.name
            pyarrow_module("pyarrow.parquet").write_table(table, temporary)
            temporary.replace(path)


def _array(arrow: Any, rows: Sequence[RowData], column: str) -> Any:
    values = [row.get(column) for row in rows]
    try:
        return arrow.array(values)
    except (arrow.ArrowInvalid, arrow.ArrowTypeError, arrow.ArrowNotImplementedError):
        return arrow.array([None if value is None else text_cell(value) for value in values])
