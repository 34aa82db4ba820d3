"""Parquet files, read batch by batch through pyarrow."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from promptls.datasets.dataset import Row
from promptls.datasets.failures import opened_bytes
from promptls.text.failure import Failure, FilePlace


@dataclass(frozen=True, slots=True)
class ParquetFile:
    """A Parquet file; its rows have no lines, so that each counts as a line of its own."""

    path: Path
    columns: tuple[str, ...]

    def rows(self) -> Iterator[Row]:
        """Each row, read while it is asked for."""
        for index, values in enumerate(row_batches(self.path)):
            yield Row(index + 1, index, values)


def open_file(path: Path) -> ParquetFile:
    """The data set in the file at `path`; raises Failure where it is no Parquet or pyarrow is missing."""
    return ParquetFile(path, tuple(_opened(path).schema_arrow.names))


def row_batches(path: Path) -> Iterator[dict[str, Any]]:
    """The rows as mappings; a batch of them is in memory at a time."""
    for batch in _opened(path).iter_batches(batch_size=1_000):
        yield from batch.to_pylist()


def pyarrow_module(name: str) -> Any:
    """A module of pyarrow; raises Failure where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise Failure(
            "Parquet files need pyarrow", remedy="install it: `pip install 'promptls[parquet]'`"
        ) from error


def _opened(path: Path) -> Any:
    parquet = pyarrow_module("pyarrow.parquet")
    opened_bytes(path)
    try:
        return parquet.ParquetFile(path)
    except Exception as error:  # pyarrow raises errors of many kinds
        raise Failure(f"the data set is no Parquet file: {error}", FilePlace(path), "save it anew") from error
