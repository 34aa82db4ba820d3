"""`local/jsonl`: one JSON Lines file each. Values keep the types that JSON has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from promptls.datasets.atomic import replaced
from promptls.datasets.backends.backend import RowData
from promptls.datasets.backends.cells import flat_row, json_line
from promptls.datasets.backends.local import LocalBackend
from promptls.datasets.jsonl_file import row_objects


class LocalJsonl(LocalBackend):
    """One JSON object a line, in UTF-8; a row has the keys that it was saved with."""

    ending = ".jsonl"

    def read(self, path: Path) -> Iterator[RowData]:
        """As in LocalBackend."""
        return (values for _, values in row_objects(path))

    def write(self, path: Path, rows: Sequence[RowData]) -> None:
        """As in LocalBackend."""
        with replaced(path) as stream:
            stream.writelines(f"{json_line(flat_row(row))}\n" for row in rows)
