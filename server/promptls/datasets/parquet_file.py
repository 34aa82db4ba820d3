"""Parquet files, read batch by batch through pyarrow."""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from promptls.datasets.cells import columns_of, flat_rows, opened_bytes, text_cell
from promptls.security.files import open_bytes
from promptls.text.errors import FilePlace, UserError


def read_columns(path: Path) -> tuple[str, ...]:
    """Return the names of the columns; raises UserError if the file is not Parquet or pyarrow is missing."""
    return tuple(_open(path).schema_arrow.names)


def read_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield each row's index as its line, and its values. Only one batch is in memory at a time."""
    line = 0
    for batch in _open(path).iter_batches(batch_size=1_000):
        for values in batch.to_pylist():
            yield line, values
            line += 1


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Replace the file atomically; raises OSError. Columns with mixed types are converted to text."""
    arrow = pyarrow_module("pyarrow")
    flat = flat_rows(rows)
    table = arrow.table({column: _array(arrow, flat, column) for column in columns_of(flat)})
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".") as folder:
        temporary = Path(folder) / path.name
        pyarrow_module("pyarrow.parquet").write_table(table, temporary)
        temporary.replace(path)


def _array(arrow: Any, rows: Sequence[Mapping[str, Any]], column: str) -> Any:
    values = [row.get(column) for row in rows]
    try:
        return arrow.array(values)
    except (arrow.ArrowInvalid, arrow.ArrowTypeError, arrow.ArrowNotImplementedError):
        return arrow.array([None if value is None else text_cell(value) for value in values])


def pyarrow_module(name: str) -> Any:
    """Return a module of pyarrow; raises UserError if pyarrow is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise UserError(
            "Parquet files need pyarrow", remedy="install it: `pip install 'promptls[parquet]'`"
        ) from error


def _open(path: Path) -> Any:
    parquet = pyarrow_module("pyarrow.parquet")
    opened_bytes(path)
    try:
        return parquet.ParquetFile(open_bytes(path))
    except Exception as error:  # pyarrow raises many kinds of errors
        raise UserError(
            f"the dataset is not a Parquet file: {error}", FilePlace(path), "save it again"
        ) from error
