"""The rows of a run in pages, filtered and sorted, read from its table without loading it.

A table of 100,000 rows is looked through once for where its lines begin; a page reads its own lines alone.
What was found is kept until the table changes.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, Literal

from promptls.experiments.answer_cache import AnswerCache
from promptls.experiments.history import RunSummary
from promptls.experiments.table_index import TableIndex, index_of
from promptls.experiments.tally import good_class
from promptls.text.failure import FilePlace, WrongUse

Kind = Literal["all", "good", "failing", "error", "problem"]

# Rows that one page may have.
LARGEST_PAGE = 1000


@dataclass(frozen=True, slots=True)
class RowQuery:
    """Which rows of a run, and in which order.

    `kind`: those that every metric finds good, those that are not (`failing`), those without an answer
    (`error`) or whose answer has the wrong form (`problem`). `search` is text that a cell has, in whatever
    case; `equal` are cells with exactly this text, by column. `sort` is a column; numbers are sorted as
    such, and rows without a value stand at the end.
    """

    kind: Kind = "all"
    search: str = ""
    equal: tuple[tuple[str, str], ...] = ()
    sort: str | None = None
    descending: bool = False


ALL = RowQuery()


def run_json(run: RunSummary) -> dict[str, Any]:
    """The run as JSON: what its manifest sums up, with the columns of its table."""
    previous = run.previous
    return {
        **asdict(run),
        "prompt": str(run.prompt),
        "results": str(run.results),
        "manifest": str(run.manifest),
        "previous": None if previous is None else {"name": previous.name, "results": str(previous.results)},
        "columns": list(index_of(run).columns),
    }


def table_columns(run: RunSummary) -> tuple[str, ...]:
    """The columns of the run's table; raises `WrongUse` where it is gone."""
    return index_of(run).columns


def found_places(run: RunSummary, query: RowQuery = ALL) -> Sequence[int]:
    """The places in the table of the rows that `query` finds, in its order.

    Raises `WrongUse` where the run's table is gone, and for a column that it does not have.
    """
    index = index_of(run)
    for column in (query.sort, *(column for column, _ in query.equal)):
        if column is not None and column not in index.columns:
            raise WrongUse(f"the table has no column `{column}`", FilePlace(run.results))
    return _found(index, query, _not_good(run))


def rows_at(run: RunSummary, places: Sequence[int]) -> Iterator[dict[str, str]]:
    """The cells of the rows at these places; raises `WrongUse` where the table has no such row."""
    index = index_of(run)
    missing = next((place for place in places if not 0 <= place < len(index)), None)
    if missing is not None:
        raise WrongUse(f"the table has no row {missing + 1}", FilePlace(run.results))
    return index.lines(places)


def row_states(run: RunSummary) -> Iterator[tuple[dict[str, str], Kind]]:
    """Every row of the table with the kind it is of: `error`, `problem`, `failing` or `good`."""
    is_failing = _condition(RowQuery(kind="failing"), _not_good(run))
    for cells in index_of(run).all_lines():
        if cells.get("error"):
            yield cells, "error"
        elif cells.get("problem"):
            yield cells, "problem"
        else:
            yield cells, "failing" if is_failing(cells) else "good"


def paired_page(
    before: RunSummary, after: RunSummary, *, differing: bool = False, start: int = 0, count: int = 100
) -> dict[str, Any]:
    """The rows of two runs side by side, in pages: `total`, and for each row `before` and `after`.

    Rows belong together by id, its occurrence and repeat, and by model where both runs have the same ones;
    one that only one run has is None in the other. With `differing`, only rows whose response or a score
    differs.
    """
    pairs = paired_places(before, after, differing=differing)
    chosen = pairs[start : start + min(count, LARGEST_PAGE)]
    old = _lines_at(index_of(before), [left for left, _ in chosen])
    new = _lines_at(index_of(after), [right for _, right in chosen])
    rows = [{"before": left, "after": right} for left, right in zip(old, new, strict=True)]
    return {"total": len(pairs), "start": start, "rows": rows}


def paired_places(
    before: RunSummary, after: RunSummary, *, differing: bool = False
) -> Sequence[tuple[int | None, int | None]]:
    """The places in both tables of the rows that belong together, as `paired_page` has them."""
    by_model = set(before.models) == set(after.models)
    pairs = _pairs(index_of(before), index_of(after), by_model=by_model)
    if not differing:
        return pairs
    shared = {metric.name for metric in before.metrics} & {metric.name for metric in after.metrics}
    columns = ("response", "error", *sorted(shared))
    return _differing(index_of(before), index_of(after), columns, by_model=by_model)


def messages_of(run: RunSummary, rendered_hash: str) -> list[dict[str, Any]] | None:
    """The messages of a row as they were sent; None where the cache does not know them any more."""
    folder = run.results.parent
    if not (folder / ".cache").is_dir():
        return None
    cache = AnswerCache(folder)
    try:
        return cache.messages(rendered_hash)
    finally:
        cache.close()


@lru_cache(maxsize=16)
def _found(index: TableIndex, query: RowQuery, not_good: tuple[tuple[str, str], ...]) -> Sequence[int]:
    if query == ALL:
        return range(len(index))
    fits = _condition(query, not_good)
    if query.sort is None:
        return array("Q", (place for place, cells in enumerate(index.all_lines()) if fits(cells)))
    found = [
        (cells.get(query.sort, ""), place) for place, cells in enumerate(index.all_lines()) if fits(cells)
    ]
    order = _order([cell for cell, _ in found])
    with_value = sorted((each for each in found if each[0]), key=order, reverse=query.descending)
    return array("Q", (place for _, place in [*with_value, *(each for each in found if not each[0])]))


def _condition(query: RowQuery, not_good: tuple[tuple[str, str], ...]) -> Callable[[Mapping[str, str]], bool]:
    needle = query.search.casefold()

    def is_failing(cells: Mapping[str, str]) -> bool:
        if cells.get("error") or cells.get("problem"):
            return True
        return any(cells.get(metric) not in {good, ""} for metric, good in not_good)

    def fits(cells: Mapping[str, str]) -> bool:
        if query.kind in {"error", "problem"} and not cells.get(query.kind):
            return False
        if query.kind in {"failing", "good"} and is_failing(cells) is not (query.kind == "failing"):
            return False
        if any(cells.get(column) != text for column, text in query.equal):
            return False
        return not needle or any(needle in cell.casefold() for cell in cells.values())

    return fits


def _order(cells: list[str]) -> Callable[[tuple[str, int]], Any]:
    """What found rows that have a value are sorted by: numbers as such, where all are."""
    try:
        numbers = {cell: float(cell) for cell in set(cells) if cell}
    except ValueError:
        return lambda found: found[0].casefold()
    return lambda found: numbers[found[0]]


def _not_good(run: RunSummary) -> tuple[tuple[str, str], ...]:
    """The good class of each metric that has one."""
    return tuple(
        (metric.name, good)
        for metric in run.metrics
        if (good := good_class("discrete", metric.allowed_values)) is not None and metric.kind == "discrete"
    )


_Pair = tuple[int | None, int | None]


@lru_cache(maxsize=4)
def _pairs(before: TableIndex, after: TableIndex, *, by_model: bool) -> list[_Pair]:
    asked = _asked(before, by_model=by_model)
    if asked == _asked(after, by_model=by_model):
        return [(place, place) for place in range(len(asked))]
    old, new = _keys(before, by_model=by_model), _keys(after, by_model=by_model)
    pairs: list[_Pair] = [(place, new.get(key)) for key, place in old.items()]
    return pairs + [(None, place) for key, place in new.items() if key not in old]


def _asked(index: TableIndex, *, by_model: bool) -> list[tuple[str, str, str]]:
    """What each line is the answer to: id, repeat and, `by_model`, the model."""
    columns = index.columns_of("id", "repeat", "model")
    models = columns["model"] if by_model else [""] * len(columns["id"])
    return list(zip(columns["id"], columns["repeat"], models, strict=True))


def _keys(index: TableIndex, *, by_model: bool) -> dict[tuple[str, str, str, int], int]:
    found: dict[tuple[str, str, str, int], int] = {}
    seen: dict[tuple[str, str, str], int] = {}
    for place, key in enumerate(_asked(index, by_model=by_model)):
        seen[key] = seen.get(key, 0) + 1
        found[key[0], key[1], key[2], seen[key]] = place
    return found


@lru_cache(maxsize=4)
def _differing(
    before: TableIndex, after: TableIndex, columns: tuple[str, ...], *, by_model: bool
) -> list[_Pair]:
    old, new = (list(zip(*index.read_columns(*columns).values(), strict=True)) for index in (before, after))
    return [
        (left, right)
        for left, right in _pairs(before, after, by_model=by_model)
        if left is None or right is None or old[left] != new[right]
    ]


def _lines_at(index: TableIndex, places: Sequence[int | None]) -> list[dict[str, str] | None]:
    lines = index.lines([place for place in places if place is not None])
    return [None if place is None else next(lines) for place in places]
