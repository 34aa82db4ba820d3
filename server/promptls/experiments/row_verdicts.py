"""What a run says of each of its rows: good or not, why, what was expected and what came."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple, TypeAlias

from promptls.experiments.failed_rows import Judged, objection
from promptls.experiments.history import RunSummary, row_results
from promptls.experiments.results_table import PREDICTED_PREFIX

State: TypeAlias = Literal["passed", "failed", "errored"]

_RANK: tuple[State, ...] = ("passed", "failed", "errored")


class RowVerdict(NamedTuple):
    """The verdict on one row, from all its results in a run; `number` counts from 1.

    A row is `passed` where no metric speaks against it, and `errored` where there is no answer. `expected` is
    what the dataset expects where a column says it, in the form of `actual`; `seconds` are those of the
    answers together.
    """

    number: int
    state: State
    message: str
    expected: str | None
    actual: str
    seconds: float | None


def row_verdicts(run: RunSummary) -> tuple[RowVerdict, ...]:
    """Return the verdict on each row of the run, in the table's order.

    Raises `UserError` where the table is gone.

    Of several results of a row (models, repeats) the worst one counts.
    """
    found: dict[int, RowVerdict] = {}
    for cells in row_results(run):
        number = cells.get("row_number") or ""
        if number.isdigit():
            verdict = verdict_of(run, int(number), cells)
            known = found.get(verdict.number)
            found[verdict.number] = verdict if known is None else together(known, verdict)
    return tuple(found.values())


def newest_verdicts(newest_first: Iterable[RunSummary]) -> Iterator[tuple[RunSummary, RowVerdict]]:
    """Yield the newest verdict on each row in these runs of one experiment, with its run."""
    seen: set[int] = set()
    for run in newest_first:
        for verdict in row_verdicts(run):
            if verdict.number not in seen:
                seen.add(verdict.number)
                yield run, verdict


def verdict_of(run: Judged, number: int, cells: Mapping[str, str]) -> RowVerdict:
    """Return the verdict on one result, whose line of the run's table is `cells`."""
    message = objection(run, cells)
    state: State = "passed" if message is None else "errored" if cells.get("error") else "failed"
    expected, actual = _sides(cells)
    try:
        seconds = float(cells.get("seconds") or "")
    except ValueError:
        seconds = None
    return RowVerdict(number, state, message or "", expected, actual, seconds)


def together(one: RowVerdict, other: RowVerdict) -> RowVerdict:
    """Return the verdict on a row of which two results are known: the worse one, with all that is said."""
    worse = max(one, other, key=lambda verdict: _RANK.index(verdict.state))
    messages = dict.fromkeys(message for message in (one.message, other.message) if message)
    seconds = [each for each in (one.seconds, other.seconds) if each is not None]
    return worse._replace(message="\n".join(messages), seconds=sum(seconds) if seconds else None)


def _sides(cells: Mapping[str, str]) -> tuple[str | None, str]:
    """Return what was expected and what came, in one form, so that they can be laid side by side."""
    keys = [
        column.removeprefix(PREDICTED_PREFIX)
        for column in cells
        if column.startswith(PREDICTED_PREFIX) and column.removeprefix(PREDICTED_PREFIX) in cells
    ]
    if keys:
        expected = {key: cells.get(key) or "" for key in keys}
        actual = {key: cells.get(f"{PREDICTED_PREFIX}{key}") or "" for key in keys}
        if any(expected.values()) and any(actual.values()):
            return _json(expected), _json(actual)
    response = cells.get("response") or ""
    said = next((cells[name] for name in ("expected", "row_response", "reference") if cells.get(name)), None)
    return said, response


def _json(values: Mapping[str, str]) -> str:
    return json.dumps(values, ensure_ascii=False, indent=2)
