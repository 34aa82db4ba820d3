"""`local/json`: one JSON file each, a list of objects. Values keep the types that JSON has."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from promptls.datasets.atomic import replaced
from promptls.datasets.backends.backend import RowData
from promptls.datasets.backends.cells import flat_rows, json_value
from promptls.datasets.backends.local import LocalBackend
from promptls.datasets.json_file import row_objects


class LocalJson(LocalBackend):
    """A list of objects in UTF-8, which is read as a whole."""

    ending = ".json"

    def read(self, path: Path) -> Iterator[RowData]:
        """As in LocalBackend."""
        return (values for _, values in row_objects(path))

    def write(self, path: Path, rows: Sequence[RowData]) -> None:
        """As in LocalBackend."""
        with replaced(path) as stream:
            json.dump(flat_rows(rows), stream, ensure_ascii=False, indent=1, default=json_value)
            stream.write("\n")
