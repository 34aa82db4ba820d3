"""The rows of a run that failed, or that a metric did not find good, read from its table."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from promptls.experiments.history import MetricSummary, RunSummary, dataset_of, row_results
from promptls.experiments.tally import good_class
from promptls.text.failure import Failure

_MOST_ROWS: Final = 5000
_MOST_FAILED: Final = 200
_MOST_REASON: Final = 200


class FailedRow(NamedTuple):
    """A result that is not good: its row's number in the data set, from 1, why, and the cells of its line.

    `is_error` says that there is no answer at all; otherwise a metric gave it a score that is not good.
    """

    number: int
    message: str
    is_error: bool
    cells: Mapping[str, str]

    def has(self, inputs: Mapping[str, str]) -> bool:
        """Whether the row has these inputs."""
        cells = self.cells
        return all(cells.get(f"row_{key}", cells.get(key)) == value for key, value in inputs.items())


def failed_rows(run: RunSummary) -> tuple[FailedRow, ...]:
    """The first 200 results of the run that are not good, in the table's order; none where that is gone."""
    try:
        status = run.results.stat()
    except OSError:
        return ()
    key = (str(run.results), status.st_mtime_ns, status.st_size)
    known = _KNOWN.get(key)
    if known is None:
        if len(_KNOWN) >= _MOST_KNOWN:
            _KNOWN.pop(next(iter(_KNOWN)))
        try:
            known = _KNOWN[key] = tuple(islice(_failed(run, _MOST_ROWS), _MOST_FAILED))
        except (Failure, OSError, ValueError):
            known = _KNOWN[key] = ()
    return known


def failing_numbers(run: RunSummary) -> frozenset[int]:
    """The numbers, from 1, of all rows of the run with a result that is not good.

    Raises `Failure` where the run's table is gone.
    """
    return frozenset(row.number for row in _failed(run, None))


_MOST_KNOWN: Final = 32
_KNOWN: Final[dict[tuple[str, int, int], tuple[FailedRow, ...]]] = {}
"""What was found in each table, by its path, time and size."""


def unchanged_dataset(run: RunSummary) -> Path | None:
    """The data set that the run went over, or None where it is another one by now."""
    named = dataset_of(run)
    if named is None:
        return None
    path, digest = named
    try:
        status = path.stat()
    except OSError:
        return None
    return path if _digest(str(path), status.st_mtime_ns, status.st_size) == digest else None


@lru_cache(maxsize=32)
def _digest(path: str, _changed: int, _size: int) -> str:
    digest = hashlib.sha256()
    try:
        with Path(path).open("rb") as stream:
            while piece := stream.read(1 << 20):
                digest.update(piece)
    except OSError:
        return ""
    return digest.hexdigest()


def _failed(run: RunSummary, most: int | None) -> Iterator[FailedRow]:
    several = len(run.models) > 1
    for cells in islice(row_results(run), most):
        number = cells.get("row_number") or ""
        if not number.isdigit():
            continue
        model = f" with `{cells.get('model')}`" if several else ""
        error = cells.get("error")
        if error:
            yield FailedRow(int(number), f"failed{model}: {_short(error)}", True, cells)  # noqa: FBT003
            continue
        said = [text for metric in run.metrics if (text := _objection(metric, cells))]
        if said:
            yield FailedRow(int(number), f"{'; '.join(said)}{model}", False, cells)  # noqa: FBT003


def _objection(metric: MetricSummary, cells: Mapping[str, Any]) -> str | None:
    """What a metric says against a result; None where it is good, or scores without a good class."""
    good = good_class("discrete", metric.allowed_values) if metric.kind == "discrete" else None
    score = cells.get(metric.name)
    if good is None or not score or score == good:
        return None
    reason = cells.get(f"{metric.name}_reason")
    return f"{metric.name} says `{score}`" + (f": {_short(reason)}" if reason else "")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MOST_REASON else f"{line[:_MOST_REASON]}…"
