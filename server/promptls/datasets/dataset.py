"""What every data set offers, whatever file or service it comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Row:
    """One row: `number` counts from 1, `line` is the line of the file (from 0) in which the row begins."""

    number: int
    line: int
    values: Mapping[str, Any]

    @property
    def id(self) -> str:
        """The value of the column `id`, or the row's number where there is none."""
        value = self.values.get("id")
        return str(value) if value not in {None, ""} else str(self.number)


class Dataset(Protocol):
    """Columns, and rows that are read while they are asked for."""

    @property
    def path(self) -> Path:
        """The file that the rows come from."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in the file's order."""

    def rows(self) -> Iterator[Row]:
        """Each row in the file's order; raises `Failure` at the line that cannot be read."""
