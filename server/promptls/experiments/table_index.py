"""Where the lines of a run's table are, so that some of them are read without the others."""

from __future__ import annotations

import csv
import io
from array import array
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from promptls.text.failure import FilePlace, WrongUse

if TYPE_CHECKING:
    from promptls.experiments.history import RunSummary


def index_of(run: RunSummary) -> TableIndex:
    """The index of the run's table, kept until that changes; raises `WrongUse` where the table is gone."""
    try:
        state = run.results.stat()
        return _index(str(run.results), state.st_mtime_ns, state.st_size)
    except OSError:
        raise WrongUse(
            "the table of the run is gone", FilePlace(run.results), "run the experiment again"
        ) from None


def scored_columns(run: RunSummary) -> Mapping[str, Sequence[str]]:
    """What says which row a line is of, and its scores: one reading serves scores and comparisons."""
    names = ("id", "repeat", "model", "row_number", *(metric.name for metric in run.metrics))
    return index_of(run).columns_of(*names)


class TableIndex:
    """Where the lines of a table begin; a cell with line breaks does not end one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._columns: dict[str, list[str]] = {}
        with path.open(encoding="utf-8", errors="replace", newline="") as stream:
            self.columns = tuple(next(csv.reader(stream), ()))

    @cached_property
    def _starts(self) -> array[int]:
        """Where each line begins, and the end of the last."""
        starts = array("Q")
        with self.path.open("rb") as stream:
            offset = 0
            is_open = False
            for line in stream:
                if not is_open:
                    starts.append(offset)
                offset += len(line)
                # A quote inside a cell is written twice, which changes nothing here.
                is_open ^= line.count(b'"') % 2 == 1
            starts.append(offset)
        return starts

    def __len__(self) -> int:
        return max(0, len(self._starts) - 2)

    def lines(self, places: Sequence[int]) -> Iterator[dict[str, str]]:
        """The cells of the lines at these places, counted from 0 behind the header."""
        with self.path.open("rb") as stream:
            for place in places:
                stream.seek(self._starts[place + 1])
                text = stream.read(self._starts[place + 2] - self._starts[place + 1])
                yield self._cells(text.decode("utf-8", "replace"))

    def all_lines(self) -> Iterator[dict[str, str]]:
        """The cells of every line, in order."""
        with self.path.open(encoding="utf-8", errors="replace", newline="") as stream:
            rows = csv.reader(stream)
            next(rows, None)
            for row in rows:
                yield dict(zip(self.columns, row, strict=False))

    def columns_of(self, *names: str) -> Mapping[str, Sequence[str]]:
        """The cells of these columns, in the order of the lines; empty ones of a column that is not there.

        They are read in one go and kept with the index: ask for short ones.
        """
        missing = [name for name in dict.fromkeys(names) if name not in self._columns]
        if missing:
            self._columns.update(self.read_columns(*missing))
        return self._columns

    def read_columns(self, *names: str) -> dict[str, list[str]]:
        """The cells of these columns, as `columns_of` gives them, which are not kept."""
        places = [self.columns.index(name) if name in self.columns else -1 for name in names]
        found: dict[str, list[str]] = {name: [] for name in names}
        targets = list(zip(places, found.values(), strict=True))
        # Most cells are like one before: each text is in memory once.
        known: dict[str, str] = {}
        with self.path.open(encoding="utf-8", errors="replace", newline="") as stream:
            rows = csv.reader(stream)
            next(rows, None)
            for row in rows:
                for place, cells in targets:
                    cell = row[place] if 0 <= place < len(row) else ""
                    cells.append(known.setdefault(cell, cell))
        return found

    def _cells(self, line: str) -> dict[str, str]:
        return dict(zip(self.columns, next(csv.reader(io.StringIO(line, newline="")), ()), strict=False))


@lru_cache(maxsize=8)
def _index(path: str, _changed: int, _size: int) -> TableIndex:
    return TableIndex(Path(path))
