"""The rows of a run that failed, or that a metric did not find good, read from its table."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from promptls.experiments.example_choice import is_of_examples
from promptls.experiments.history import MetricSummary, RunSummary, dataset_of, row_results
from promptls.experiments.tally import good_class
from promptls.security.files import Stamp, kept_by_file, open_bytes, open_text, stamp_of
from promptls.text.errors import UserError

_MAX_ROWS: Final = 5000
_MAX_FAILED: Final = 200
_MAX_REASON: Final = 200


class FailedRow(NamedTuple):
    """A result that is not good: its row's number in the dataset, from 1, why, and the cells of its line.

    `is_error` says that there is no answer at all; otherwise a metric gave it a score that is not good.
    """

    number: int
    message: str
    is_error: bool
    cells: Mapping[str, str]
    place: int
    """The result's place in the run's table, from 1."""


def failed_rows(run: RunSummary) -> tuple[FailedRow, ...]:
    """Return the first 200 results of the run that are not good, in the table's order.

    None if that is gone.
    """
    stamp = stamp_of(run.results)
    if stamp is None:
        return ()
    key = (run.results, stamp)
    known = _KNOWN.get(key)
    if known is None:
        if len(_KNOWN) >= _MAX_KNOWN:
            _KNOWN.pop(next(iter(_KNOWN)))
        try:
            known = _KNOWN[key] = tuple(islice(_failed(run, _MAX_ROWS), _MAX_FAILED))
        except (UserError, OSError, ValueError):
            known = _KNOWN[key] = ()
    return known


def standing_failures(newest_first: Iterable[RunSummary]) -> Iterator[tuple[RunSummary, FailedRow]]:
    """Yield what the runs of one experiment say against rows, each row's newest result alone, with its run.

    Runs of a prompt that has changed since, and those over the prompt's examples, say nothing.
    """
    covered: set[int] = set()
    for run in newest_first:
        if run.stale or is_of_examples(run.rows_chosen):
            continue
        yield from ((run, row) for row in failed_rows(run) if row.number not in covered)
        if run.rows_chosen is None:
            return
        covered |= _numbers(run.results)


def failing_numbers(newest_first: Iterable[RunSummary]) -> frozenset[int]:
    """Return the numbers, from 1, of the rows whose latest result in these runs is not good.

    Raises `UserError` where the table of a run is gone.
    """
    found: set[int] = set()
    covered: set[int] = set()
    for run in newest_first:
        if not is_of_examples(run.rows_chosen):
            found |= {row.number for row in _failed(run, None)} - covered
            covered |= _numbers(run.results)
    return frozenset(found)


@kept_by_file(32)
def _numbers(table: Path) -> frozenset[int]:
    """Return the numbers of the rows that a run has results of."""
    with open_text(table, newline="") as stream:
        return frozenset(
            int(cells["row_number"])
            for cells in csv.DictReader(stream)
            if (cells.get("row_number") or "").isdigit()
        )


_MAX_KNOWN: Final = 32
_KNOWN: Final[dict[tuple[Path, Stamp], tuple[FailedRow, ...]]] = {}
"""What was found in each table, by its path and stamp."""


def unchanged_dataset(run: RunSummary) -> Path | None:
    """Return the dataset that the run went over, or None if it is another one by now."""
    named = dataset_of(run)
    if named is None:
        return None
    path, digest = named
    return path if _digest(path) == digest else None


@kept_by_file(32)
def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    try:
        with open_bytes(path) as stream:
            while piece := stream.read(1 << 20):
                digest.update(piece)
    except OSError:
        return ""
    return digest.hexdigest()


class Judged(Protocol):
    """What is known of a run whose results are judged: its models and its metrics."""

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the models."""

    @property
    def metrics(self) -> tuple[MetricSummary, ...]:
        """The metrics; of a run that goes on, without scores."""


def objection(run: Judged, cells: Mapping[str, str]) -> str | None:
    """Return what is wrong with a line of a run's table: its error, or a score that is not good.

    None for none.
    """
    model = f" with `{cells.get('model')}`" if len(run.models) > 1 else ""
    error = cells.get("error")
    if error:
        return f"failed{model}: {_short(error)}"
    said = [text for metric in run.metrics if (text := _objection(metric, cells))]
    return f"{'; '.join(said)}{model}" if said else None


def _failed(run: RunSummary, most: int | None) -> Iterator[FailedRow]:
    for place, cells in enumerate(islice(row_results(run), most), start=1):
        number = cells.get("row_number") or ""
        message = objection(run, cells) if number.isdigit() else None
        if message is not None:
            yield FailedRow(int(number), message, bool(cells.get("error")), cells, place)


def _objection(metric: MetricSummary, cells: Mapping[str, Any]) -> str | None:
    """Return what a metric says against a result; None if it is good, or scores without a good class."""
    good = good_class("discrete", metric.allowed_values) if metric.kind == "discrete" else None
    score = cells.get(metric.name)
    if good is None or not score or score == good:
        return None
    reason = cells.get(f"{metric.name}_reason")
    return f"{metric.name} says `{score}`" + (f": {_short(reason)}" if reason else "")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_REASON else f"{line[:_MAX_REASON]}…"
