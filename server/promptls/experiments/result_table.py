"""The published table of a finished run, copied into a temporary SQLite database to be queried."""

from __future__ import annotations

import csv
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from promptls.security.files import Stamp, open_text, stamp_of
from promptls.text.errors import FilePlace, UsageError

if TYPE_CHECKING:
    from promptls.experiments.history import RunSummary

_MAX_COLUMNS: Final = 1_900
"""SQLite's limit is 2,000; columns beyond these are not shown."""


def table_of(run: RunSummary) -> ResultTable:
    """Return the run's table, copied again only when it has changed; raises `UsageError` if it is gone."""
    try:
        return _table(run.results, stamp_of_table(run))
    except OSError:
        raise _gone(run) from None


def stamp_of_table(run: RunSummary) -> Stamp:
    """Return the stamp of the run's table; raises `UsageError` if it is gone."""
    stamp = stamp_of(run.results)
    if stamp is None:
        raise _gone(run)
    return stamp


def _gone(run: RunSummary) -> UsageError:
    return UsageError("the table of the run is gone", FilePlace(run.results), "run the experiment again")


def scored_columns(run: RunSummary) -> Mapping[str, Sequence[str]]:
    """Return what identifies the row of each line, and its scores."""
    names = ("id", "repeat", "model", "row_number", *(metric.name for metric in run.metrics))
    return table_of(run).columns_of(*names)


class ResultTable:
    """A table whose lines are numbered from 0 behind the header; may be used by several threads.

    It is copied when its lines are first asked for; its columns are known at once.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        with open_text(path, errors="replace", newline="") as stream:
            self.columns = tuple(next(csv.reader(stream), ()))[:_MAX_COLUMNS]

    def __len__(self) -> int:
        ((count,),) = self.query("SELECT count(*) FROM lines")
        return int(count)

    def lines(self, places: Sequence[int]) -> Iterator[dict[str, str]]:
        """Yield the cells of the lines at these places."""
        for place in places:
            (found,) = self.query("SELECT * FROM lines WHERE place = ?", (place,))
            yield dict(zip(self.columns, found[1:], strict=True))

    def all_lines(self) -> Iterator[dict[str, str]]:
        """Yield the cells of every line, in order; the file is read, and nothing is copied."""
        with open_text(self.path, errors="replace", newline="") as stream:
            rows = csv.reader(stream)
            next(rows, None)
            for row in rows:
                yield dict(zip(self.columns, row, strict=False))

    def columns_of(self, *names: str) -> dict[str, Sequence[str]]:
        """Return the cells of these columns, in the order of the lines; a missing column is empty."""
        chosen = ", ".join(["place", *map(self.column, names)])
        rows = self.query(f"SELECT {chosen} FROM lines ORDER BY place")  # noqa: S608 - names of our own
        columns = list(zip(*rows, strict=True))[1:] or [()] * len(names)
        return dict(zip(names, columns, strict=True))

    def column(self, name: str) -> str:
        """Return the SQL expression of a column; that of a missing one is empty."""
        return f"c{self.columns.index(name)}" if name in self.columns else "''"

    def query(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Query the table `lines`, whose columns are `place`, `c0`, `c1` and so on.

        `number(text)` is a number, and NULL for any other text; `casefold(text)` is for comparisons.
        """
        with self._lock:
            if self._connection is None:
                self._connection = self._copied()
            return self._connection.execute(sql, values).fetchall()

    def _copied(self) -> sqlite3.Connection:
        # A database without a name is a file of the system's that ends with the connection.
        connection = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        connection.create_function("number", 1, _number, deterministic=True)
        connection.create_function("casefold", 1, str.casefold, deterministic=True)
        width = len(self.columns)
        for pragma in ("journal_mode = OFF", "synchronous = OFF"):
            connection.execute(f"PRAGMA {pragma}")
        columns = "".join(f", c{index} TEXT NOT NULL" for index in range(width))
        connection.execute(f"CREATE TABLE lines (place INTEGER PRIMARY KEY{columns})")
        connection.execute("BEGIN")
        with open_text(self.path, errors="replace", newline="") as stream:
            rows = csv.reader(stream)
            connection.executemany(
                f"INSERT INTO lines VALUES (?{', ?' * width})",  # noqa: S608 - marks alone
                (
                    (place, *(row if len(row) == width else [*row, *[""] * width][:width]))
                    for place, row in enumerate(islice(rows, 1, None))
                ),
            )
        connection.execute("COMMIT")
        return connection


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


@lru_cache(maxsize=8)
def _table(path: Path, stamp: Stamp) -> ResultTable:  # noqa: ARG001 - a part of the key
    return ResultTable(path)
