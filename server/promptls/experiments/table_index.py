"""Where the lines of a run's table are, so that some of them are read without the others."""

from __future__ import annotations

import csv
import io
import threading
from array import array
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from promptls.experiments.kept_columns import KeptColumns, keep_columns, kept_columns
from promptls.text.failure import FilePlace, WrongUse
from promptls.text.file_stamp import Stamp, stamp_of

if TYPE_CHECKING:
    from promptls.experiments.history import RunSummary


def index_of(run: RunSummary) -> TableIndex:
    """The index of the run's table, kept until that changes; raises `WrongUse` where the table is gone."""
    try:
        return _index(run.results, stamp_of_table(run))
    except OSError:
        raise _gone(run) from None


def stamp_of_table(run: RunSummary) -> Stamp:
    """The stamp of the run's table; raises `WrongUse` where that is gone."""
    stamp = stamp_of(run.results)
    if stamp is None:
        raise _gone(run)
    return stamp


def _gone(run: RunSummary) -> WrongUse:
    return WrongUse("the table of the run is gone", FilePlace(run.results), "run the experiment again")


def scored_columns(run: RunSummary) -> Mapping[str, Sequence[str]]:
    """What says which row a line is of, and its scores: one reading serves scores and comparisons."""
    names = ("id", "repeat", "model", "row_number", *(metric.name for metric in run.metrics))
    return index_of(run).columns_of(*names)


class TableIndex:
    """Where the lines of a table begin; a cell with line breaks does not end one."""

    def __init__(self, path: Path, stamp: Stamp) -> None:
        self.path = path
        self._stamp = stamp
        self._columns: dict[str, Sequence[str]] = {}
        self._known_starts: array[int] | None = None
        self._reading = threading.Lock()
        with path.open(encoding="utf-8", errors="replace", newline="") as stream:
            self.columns = tuple(next(csv.reader(stream), ()))

    @property
    def _starts(self) -> array[int]:
        """Where each line begins, and the end of the last."""
        if self._known_starts is None:
            self._known_starts = self._found_starts()
        return self._known_starts

    def _found_starts(self) -> array[int]:
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

        They are read in one go and kept with the index, of a long table also beside it: ask for short ones.
        """
        # Questions that come at once wait for the one reading.
        with self._reading:
            if self._missing(names):
                self._take_kept()
            if missing := self._missing(names):
                self._columns.update(self.read_columns(*missing))
                keep_columns(self.path, self._stamp, KeptColumns(self._starts, dict(self._columns)))
        return self._columns

    def _missing(self, names: Sequence[str]) -> list[str]:
        return [name for name in dict.fromkeys(names) if name not in self._columns]

    def _take_kept(self) -> None:
        found = None if self._columns else kept_columns(self.path, self._stamp)
        if found is not None:
            self._known_starts = found.starts
            self._columns.update(found.columns)

    def read_columns(self, *names: str) -> dict[str, list[str]]:
        """The cells of these columns, as `columns_of` gives them, which are not kept."""
        there = [name for name in names if name in self.columns]
        places = [self.columns.index(name) for name in there]
        # One more, so that what is got is always a tuple.
        get = itemgetter(*places, 0) if places else itemgetter(0, 0)
        width = max(places, default=0) + 1
        with self.path.open(encoding="utf-8", errors="replace", newline="") as stream:
            rows = csv.reader(stream)
            next(rows, None)
            found = [get(row) if len(row) >= width else get([*row, *[""] * width]) for row in rows]
        columns = [list(cells) for cells in zip(*found, strict=True)] or [[] for _ in [*places, 0]]
        own = dict(zip(there, columns, strict=False))
        return {name: own[name] if name in own else [""] * len(found) for name in names}

    def _cells(self, line: str) -> dict[str, str]:
        return dict(zip(self.columns, next(csv.reader(io.StringIO(line, newline="")), ()), strict=False))


@lru_cache(maxsize=8)
def _index(path: Path, stamp: Stamp) -> TableIndex:
    return TableIndex(path, stamp)
