"""Paginated queries of a run's table: filtered and sorted in a temporary SQLite copy."""

from __future__ import annotations

import csv
import math
import sqlite3
import threading
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, TypeVar

from promptls.experiments.answer_cache import reading_answers
from promptls.experiments.history import RunSummary
from promptls.security.files import Stamp, cached_by_file, open_text, stamp_of
from promptls.text.errors import FilePlace, UsageError

_Answer = TypeVar("_Answer")
_MAX_COLUMNS: Final = 1_900
"""Maximum number of columns; SQLite's limit is 2,000. Further columns are not shown."""


def table_of(run: RunSummary) -> ResultTable:
    """Return the run's table, cached until it changes; raises `UsageError` if it does not exist."""
    try:
        return _table(run.results)
    except OSError:
        raise _gone(run) from None


def stamp_of_table(run: RunSummary) -> Stamp:
    """Return the stamp of the run's table; raises `UsageError` if it does not exist."""
    stamp = stamp_of(run.results)
    if stamp is None:
        raise _gone(run)
    return stamp


_MAX_CACHED: Final = 32
"""Maximum number of cached answers of a function."""


def cached_by_tables(
    answer: Callable[[Sequence[RunSummary]], _Answer],
) -> Callable[[Sequence[RunSummary]], _Answer]:
    """Cache the results of `answer` for the same runs until a table changes.

    Raises `UsageError` if a table is missing.
    """
    known: dict[tuple[tuple[Path, Stamp], ...], _Answer] = {}

    def cached(runs: Sequence[RunSummary]) -> _Answer:
        key = tuple((run.results, stamp_of_table(run)) for run in runs)
        if key not in known:
            while len(known) >= _MAX_CACHED:
                known.pop(next(iter(known)), None)
            known[key] = answer(runs)
        return known[key]

    return cached


def _gone(run: RunSummary) -> UsageError:
    return UsageError(
        "the table of the run does not exist", FilePlace(run.results), "run the experiment again"
    )


def scored_columns(run: RunSummary) -> Mapping[str, Sequence[str]]:
    """Return the columns that identify the row of each line, and the score columns."""
    names = ("id", "repeat", "model", "row_number", *(metric.name for metric in run.metrics))
    return table_of(run).columns_of(*names)


class ResultTable:
    """A table whose lines are numbered from 0 after the header; it is thread-safe.

    It is copied when its lines are first accessed; its columns are read immediately.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        with open_text(path, errors="replace") as stream:
            self.columns = tuple(next(csv.reader(stream), ()))[:_MAX_COLUMNS]

    def __len__(self) -> int:
        ((count,),) = self.query("SELECT count(*) FROM lines")
        return int(count)

    def lines(self, places: Sequence[int]) -> Iterator[dict[str, str]]:
        """Yield the cells of the lines with these indices."""
        for place in places:
            (found,) = self.query("SELECT * FROM lines WHERE place = ?", (place,))
            yield dict(zip(self.columns, found[1:], strict=True))

    def all_lines(self) -> Iterator[dict[str, str]]:
        """Yield the cells of every line, in order, directly from the file."""
        with open_text(self.path, errors="replace") as stream:
            rows = csv.reader(stream)
            next(rows, None)
            for row in rows:
                yield dict(zip(self.columns, row, strict=False))

    def columns_of(self, *names: str) -> dict[str, Sequence[str]]:
        """Return the cells of these columns, in line order; missing columns are empty."""
        chosen = ", ".join(["place", *map(self.column, names)])
        rows = self.query(f"SELECT {chosen} FROM lines ORDER BY place")  # noqa: S608 - generated names
        columns = list(zip(*rows, strict=True))[1:] or [()] * len(names)
        return dict(zip(names, columns, strict=True))

    def column(self, name: str) -> str:
        """Return the SQL expression of a column; an empty string literal for a missing one."""
        return f"c{self.columns.index(name)}" if name in self.columns else "''"

    def query(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Query the table `lines`, whose columns are `place`, `c0`, `c1` and so on.

        `number(text)` converts to a number, or NULL; `casefold(text)` is for case-insensitive comparisons.
        """
        with self._lock:
            if self._connection is None:
                self._connection = self._copy()
            return self._connection.execute(sql, values).fetchall()

    def _copy(self) -> sqlite3.Connection:
        # A database without a name is a temporary file that is deleted with the connection.
        connection = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        connection.create_function("number", 1, _number, deterministic=True)
        connection.create_function("casefold", 1, str.casefold, deterministic=True)
        width = len(self.columns)
        for pragma in ("journal_mode = OFF", "synchronous = OFF"):
            connection.execute(f"PRAGMA {pragma}")
        columns = "".join(f", c{index} TEXT NOT NULL" for index in range(width))
        connection.execute(f"CREATE TABLE lines (place INTEGER PRIMARY KEY{columns})")
        connection.execute("BEGIN")
        with open_text(self.path, errors="replace") as stream:
            rows = csv.reader(stream)
            connection.executemany(
                f"INSERT INTO lines VALUES (?{', ?' * width})",  # noqa: S608 - placeholders only
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


@cached_by_file(8)
def _table(path: Path) -> ResultTable:
    return ResultTable(path)


Kind = Literal["all", "good", "failing", "error", "problem"]

LARGEST_PAGE = 1000


@dataclass(frozen=True, slots=True)
class RowQuery:
    """A filter and an order for the rows of a run.

    `kind` selects rows that every metric considers good, rows that are not (`failing`), rows without an
    answer (`error`), or rows whose answer has the wrong format (`problem`). `search` is text that a cell
    contains, ignoring case; `equal` maps columns to exact cell texts. `sort` is a column; numbers are sorted
    numerically, and rows without a value come last.
    """

    kind: Kind = "all"
    search: str = ""
    equal: tuple[tuple[str, str], ...] = ()
    sort: str | None = None
    descending: bool = False


ALL = RowQuery()


def table_columns(run: RunSummary) -> tuple[str, ...]:
    """Return the columns of the run's table; raises `UsageError` if it does not exist."""
    return table_of(run).columns


def found_places(run: RunSummary, query: RowQuery = ALL) -> Sequence[int]:
    """Return the indices of the rows that match `query`, in its order.

    Raises `UsageError` if the run's table does not exist or lacks a column.
    """
    index = table_of(run)
    for column in (query.sort, *(column for column, _ in query.equal)):
        if column is not None and column not in index.columns:
            raise UsageError(f"the table has no column `{column}`", FilePlace(run.results))
    return _found(index, query, _not_good(run))


def failures_at(run: RunSummary, places: Sequence[int]) -> list[int]:
    """Return how many metrics consider each of the rows with these indices not good."""
    not_good = _not_good(run)
    return [
        sum(cells.get(metric) not in {good, "", None} for metric, good in not_good)
        for cells in rows_at(run, places)
    ]


def rows_at(run: RunSummary, places: Sequence[int]) -> Iterator[dict[str, str]]:
    """Yield the cells of the rows with these indices; raises `UsageError` if the table has no such row."""
    index = table_of(run)
    missing = next((place for place in places if not 0 <= place < len(index)), None)
    if missing is not None:
        raise UsageError(f"the table has no row {missing + 1}", FilePlace(run.results))
    return index.lines(places)


def row_states(run: RunSummary) -> Iterator[tuple[dict[str, str], Kind]]:
    """Yield every row of the table with its kind: `error`, `problem`, `failing` or `good`."""
    not_good = _not_good(run)
    for cells in table_of(run).all_lines():
        if cells.get("error"):
            yield cells, "error"
        elif cells.get("problem"):
            yield cells, "problem"
        else:
            is_failing = any(cells.get(metric) not in {good, "", None} for metric, good in not_good)
            yield cells, "failing" if is_failing else "good"


def paired_page(
    before: RunSummary, after: RunSummary, *, differing: bool = False, start: int = 0, count: int = 100
) -> dict[str, Any]:
    """Return the rows of two runs side by side, in pages: `total`, and for each row `before` and `after`.

    Rows are matched by id, and by model if both runs have the same models; a row that is missing from a
    run is None. With `differing`, only rows whose response or a score
    differs.
    """
    pairs = paired_places(before, after, differing=differing)
    chosen = pairs[start : start + min(count, LARGEST_PAGE)]
    old = _lines_at(table_of(before), [left for left, _ in chosen])
    new = _lines_at(table_of(after), [right for _, right in chosen])
    rows = [{"before": left, "after": right} for left, right in zip(old, new, strict=True)]
    return {"total": len(pairs), "start": start, "rows": rows}


def paired_places(
    before: RunSummary, after: RunSummary, *, differing: bool = False
) -> Sequence[tuple[int | None, int | None]]:
    """Return the indices of matching rows in both tables; see `paired_page`."""
    by_model = set(before.models) == set(after.models)
    pairs = _pairs(table_of(before), table_of(after), by_model=by_model)
    if not differing:
        return pairs
    shared = {metric.name for metric in before.metrics} & {metric.name for metric in after.metrics}
    columns = ("response", "error", *sorted(shared))
    good: dict[str, str | int] = {name: value for name, value in _not_good(after) if name in shared}
    for metric in after.metrics:
        if metric.kind == "numeric" and metric.name in shared:
            good[metric.name] = -1 if metric.lower_is_better else 1
    return _differing(table_of(before), table_of(after), columns, tuple(good.items()), by_model=by_model)


def messages_of(run: RunSummary, rendered_hash: str) -> list[dict[str, Any]] | None:
    """Return the messages of a row as they were sent; None if they are no longer cached."""
    with reading_answers(run.results.parent) as cache:
        return None if cache is None else cache.messages(rendered_hash)


@lru_cache(maxsize=16)
def _found(table: ResultTable, query: RowQuery, not_good: tuple[tuple[str, str], ...]) -> Sequence[int]:
    if query == ALL:
        return range(len(table))
    where, values = _condition(table, query, not_good)
    order = "place" if query.sort is None else _order(table, query, where, values)
    if not query.search:
        found = table.query(f"SELECT place FROM lines WHERE {where} ORDER BY {order}", values)  # noqa: S608 - see _condition
        return array("Q", (place for (place,) in found))
    needle = query.search.casefold()
    rows = table.query(f"SELECT * FROM lines WHERE {where} ORDER BY {order}", values)  # noqa: S608 - as above
    return array("Q", (place for place, *cells in rows if any(needle in cell.casefold() for cell in cells)))


def _condition(
    table: ResultTable, query: RowQuery, not_good: tuple[tuple[str, str], ...]
) -> tuple[str, list[str]]:
    """Return the SQL condition for the rows, without the search, and its values."""
    conditions = [f"{table.column(column)} = ?" for column, _ in query.equal] or ["1"]
    values = [text for _, text in query.equal]
    if query.kind in {"error", "problem"}:
        conditions.append(f"{table.column(query.kind)} <> ''")
    elif query.kind in {"failing", "good"}:
        problems = [f"{table.column(metric)} NOT IN (?, '')" for metric, _ in not_good]
        failing = " OR ".join([f"{table.column(name)} <> ''" for name in ("error", "problem")] + problems)
        conditions.append(f"({failing})" if query.kind == "failing" else f"NOT ({failing})")
        values += [good for _, good in not_good]
    return " AND ".join(conditions), values


def _order(table: ResultTable, query: RowQuery, where: str, values: Sequence[str]) -> str:
    """Return the SQL order: numeric if all values are numbers; rows without a value last."""
    column = table.column(query.sort or "")
    texts = f"SELECT 1 FROM lines WHERE {where} AND {column} <> '' AND number({column}) IS NULL LIMIT 1"  # noqa: S608 - as above
    key = "casefold" if table.query(texts, values) else "number"
    return f"{column} = '', {key}({column}) {'DESC' if query.descending else 'ASC'}, place"


def _not_good(run: RunSummary) -> tuple[tuple[str, str], ...]:
    """Return the good class of each metric that has one."""
    return tuple((metric.name, metric.good) for metric in run.metrics if metric.good is not None)


RowKey: TypeAlias = tuple[str, int, str]
"""A row's id, its number among rows with that id, and its model if both runs used the same models."""
_Pair = tuple[int | None, int | None]


@lru_cache(maxsize=4)
def lines_by_row(table: ResultTable, *, by_model: bool) -> Mapping[RowKey, Sequence[int]]:
    """Return the indices of the lines of each row: of its repeats and, unless `by_model`, its models."""
    columns = table.columns_of("id", "model", "repeat")
    models = columns["model"] if by_model else [""] * len(columns["id"])
    keys = [(id_, 1, model) for id_, model in zip(columns["id"], models, strict=True)]
    if len(set(keys)) == len(keys):
        return {key: [place] for place, key in enumerate(keys)}
    rows: dict[RowKey, list[int]] = defaultdict(list)
    seen: Counter[tuple[str, str, str]] = Counter()
    for place, (asking, model) in enumerate(zip(zip(*columns.values(), strict=True), models, strict=True)):
        seen[asking] += 1
        rows[asking[0], seen[asking], model].append(place)
    return rows


@lru_cache(maxsize=4)
def _pairs(before: ResultTable, after: ResultTable, *, by_model: bool) -> list[_Pair]:
    old, new = (lines_by_row(table, by_model=by_model) for table in (before, after))
    pairs = [pair for key, places in old.items() for pair in zip_longest(places, new.get(key, ()))]
    return pairs + [(None, place) for key, places in new.items() if key not in old for place in places]


@lru_cache(maxsize=4)
def _differing(
    before: ResultTable,
    after: ResultTable,
    columns: tuple[str, ...],
    good: tuple[tuple[str, str | int], ...],
    *,
    by_model: bool,
) -> list[_Pair]:
    """Return the pairs that differ: first those whose scores got worse, last those in one run only.

    `good` has the good class of metrics with classes, and whether more (1) or less (-1) is better of others.
    """
    old, new = (list(zip(*index.columns_of(*columns).values(), strict=True)) for index in (before, after))
    places = {name: place for place, name in enumerate(columns)}

    def change(pair: _Pair) -> float:
        left, right = pair
        if left is None or right is None:
            return math.inf
        return sum(_gain(old[left][places[name]], new[right][places[name]], best) for name, best in good)

    found = [
        (left, right)
        for left, right in _pairs(before, after, by_model=by_model)
        if left is None or right is None or old[left] != new[right]
    ]
    return sorted(found, key=change)


def _gain(before: str, after: str, good: str | int) -> int:
    """Return 1 if a score got better, -1 if it got worse, and 0 otherwise."""
    if isinstance(good, str):
        return (after == good) - (before == good)
    try:
        first, then = float(before), float(after)
    except ValueError:
        return 0
    return good * ((then > first) - (then < first))


def _lines_at(index: ResultTable, places: Sequence[int | None]) -> list[dict[str, str] | None]:
    lines = index.lines([place for place in places if place is not None])
    return [None if place is None else next(lines) for place in places]
