"""The rows that a written experiment is run over, one at a time."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sized
from pathlib import Path
from typing import Any, NamedTuple

from promptls.datasets.backends.cells import json_line
from promptls.datasets.backends.local import LocalBackend
from promptls.datasets.dataset import Row
from promptls.datasets.registry import open_dataset
from promptls.experiments.row_choice import ALL_ROWS, RowChoice


class NumberedRow(NamedTuple):
    """A row as the data set gives it, and its number from 1."""

    number: int
    row: Any

    @property
    def values(self) -> Mapping[str, Any]:
        """Its columns."""
        return self.row if isinstance(self.row, Mapping) else dict(self.row)

    @property
    def digest(self) -> str:
        """A hash that another row hardly has."""
        return hashlib.sha256(json_line(self.values).encode("utf-8", "surrogatepass")).hexdigest()[:16]


class FileRows:
    """The rows of a file as mappings, read anew each time; raises Failure at what cannot be read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (dict(row.values) for row in open_dataset(self.path).rows())


class WrittenRows:
    """The chosen rows of whatever the experiment's file gives as its data set."""

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

    def __iter__(self) -> Iterator[NumberedRow]:
        """Each chosen row in order; raises `WrongUse` for a condition that a row cannot answer."""
        given: list[Any] = [None]

        def numbered() -> Iterator[Row]:
            for number, row in enumerate(self._rows, start=1):
                given[0] = row
                yield Row(number, number - 1, NumberedRow(number, row).values)

        return (NumberedRow(row.number, given[0]) for row in self.choice.of(numbered()))

    def count(self) -> int:
        """How many rows are chosen."""
        if self.choice == ALL_ROWS and isinstance(self._rows, Sized):
            return len(self._rows)
        return sum(1 for _ in self)
