"""The rows of a run as short text, for coding agents: the data, the answer, and the reason of each score."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from promptls.experiments.history import RunSummary
from promptls.experiments.result_pages import RowQuery, failures_at, found_places, rows_at
from promptls.experiments.results_table import (
    JUDGING_COLUMNS,
    PREDICTED_PREFIX,
    REASON_SUFFIX,
    RESULT_COLUMNS,
)
from promptls.text.format import shorten_line

DEFAULT_COUNT: Final = 10
"""The default number of rows in an answer."""
_MAX_CELL: Final = 300
"""The number of characters of a cell in an answer."""


_MAX_RANKED: Final = 5000
"""The number of failing rows that are sorted by how many metrics they fail."""


def chosen_places(run: RunSummary, show: str, search: str = "") -> Sequence[int]:
    """Return the indices of the rows in the run's table, in the order to show them.

    `show` is `worst` for all rows, the worst first; `failing` for those that are not good; `error` for those
    without an answer; or `all`.
    """
    if show == "all":
        return found_places(run, RowQuery(search=search))
    if show == "error":
        return found_places(run, RowQuery("error", search))
    wrong = found_places(run, RowQuery("failing", search))[:_MAX_RANKED]
    ranked = sorted(zip(failures_at(run, wrong), wrong, strict=True), key=lambda each: -each[0])
    failing = [
        *found_places(run, RowQuery("error", search)),
        *found_places(run, RowQuery("problem", search)),
        *(place for _, place in ranked),
        *found_places(run, RowQuery("failing", search)),
    ]
    numeric = next((metric for metric in run.metrics if metric.kind == "numeric"), None)
    rest = (
        found_places(run, RowQuery(search=search))
        if numeric is None
        else found_places(run, RowQuery(search=search, sort=numeric.name, descending=numeric.lower_is_better))
    )
    has_verdict = any(metric.kind == "discrete" for metric in run.metrics)
    return list(dict.fromkeys([*failing, *(() if show == "failing" and has_verdict else rest)]))


class RowsPage(NamedTuple):
    """Some of `total` rows, as data, and as lines of text, the first of which says what rows these are."""

    total: int
    rows: list[dict[str, Any]]
    lines: list[str]


def rows_page(run: RunSummary, show: str, search: str, start: int, count: int) -> RowsPage:
    """Return `count` of the rows of `chosen_places`, starting at index `start`."""
    places = chosen_places(run, show, search)
    rows = readable_rows(run, places[start : start + count])
    return RowsPage(len(places), rows, [_page_line(start, len(rows), len(places)), *row_lines(rows)])


def readable_rows(run: RunSummary, places: Sequence[int]) -> list[dict[str, Any]]:
    """Return the rows with these indices, without the columns that only promptls needs."""
    metrics = [metric.name for metric in run.metrics]
    own = {"id", "response", *RESULT_COLUMNS, *JUDGING_COLUMNS, *metrics}
    own |= {f"{name}{REASON_SUFFIX}" for name in metrics}
    several = len(run.models) > 1
    found = []
    for cells in rows_at(run, places):
        row: dict[str, Any] = {"row": cells.get("row_number"), "id": cells.get("id")}
        if several:
            row["model"] = cells.get("model")
        row["data"] = {
            name: shorten_line(value, _MAX_CELL)
            for name, value in cells.items()
            if value and name not in own and not name.startswith(PREDICTED_PREFIX)
        }
        row["answer"] = shorten_line(cells.get("response") or "", _MAX_CELL)
        row |= {name: value for name in ("error", "problem") if (value := cells.get(name))}
        row["scores"] = {
            name: {
                "score": cells.get(name, ""),
                "reason": shorten_line(cells.get(f"{name}{REASON_SUFFIX}") or "", _MAX_CELL),
            }
            for name in metrics
        }
        found.append(row)
    return found


def row_lines(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of `readable_rows`."""
    for row in rows:
        model = f", {row['model']}" if "model" in row else ""
        yield f"row {row['row']} (id {row['id']}{model})"
        yield from (f"  {name}: {value}" for name, value in row["data"].items())
        yield f"  answer: {row['answer']}"
        yield from (f"  {name}: {row[name]}" for name in ("error", "problem") if name in row)
        for name, score in row["scores"].items():
            yield f"  {name}: {score['score']}" + (f" ({score['reason']})" if score["reason"] else "")


def _page_line(start: int, count: int, total: int) -> str:
    """Return which rows are shown: `rows 1 to 10 of 50`."""
    if not count:
        return f"no rows after row {start} of {total}" if total else "no rows"
    return f"rows {start + 1} to {start + count} of {total}"
