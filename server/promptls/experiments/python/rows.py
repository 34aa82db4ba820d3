"""The rows that a code-defined experiment is run over, one at a time."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sized
from pathlib import Path
from typing import Any

from promptls.datasets.backends import LocalBackend
from promptls.datasets.cells import json_line
from promptls.datasets.files import Row, open_dataset
from promptls.experiments.row_choice import ALL_ROWS, RowChoice


def digest_of_row(row: Row) -> str:
    """Return a hash that identifies the row's values."""
    return hashlib.sha256(json_line(row.values).encode("utf-8", "surrogatepass")).hexdigest()[:16]


class FileRows:
    """The rows of a file as mappings, read anew each time; raises UserError at what cannot be read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (dict(row.values) for row in open_dataset(self.path).rows())


class PythonRows:
    """The chosen rows of whatever the experiment's file gives as its dataset."""

    def __init__(self, rows: Iterable[Any], choice: RowChoice = ALL_ROWS) -> None:
        # What can be gone over only once is kept, since rows are counted before any is asked.
        self._rows = list(rows) if isinstance(rows, Iterator) else rows
        self.choice = choice

    @property
    def path(self) -> Path | None:
        """The file that the rows come from, where that is known."""
        if isinstance(self._rows, FileRows):
            return self._rows.path
        backend = getattr(self._rows, "backend", None)
        name = getattr(self._rows, "name", None)
        if not isinstance(backend, LocalBackend) or not isinstance(name, str):
            return None
        path = backend.path_of(name, "datasets").absolute()
        return path if path.is_file() else None

    def __iter__(self) -> Iterator[Row]:
        """Yield each chosen row in order; raises `UsageError` for a condition that a row cannot answer."""
        return self.choice.of(
            Row(number, number - 1, item if isinstance(item, Mapping) else dict(item), item)
            for number, item in enumerate(self._rows, start=1)
        )

    def count(self) -> int:
        """Return how many rows are chosen."""
        if self.choice == ALL_ROWS and isinstance(self._rows, Sized):
            return len(self._rows)
        return sum(1 for _ in self)
