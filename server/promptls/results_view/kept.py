"""Answers that are kept as long as the tables that they are about stay the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from promptls.experiments.history import RunSummary
from promptls.text.failure import FilePlace, WrongUse

Answer = TypeVar("Answer")

# Answers that are kept of each question.
_MOST: Final = 32

_Stamp = tuple[str, int, int]


def kept_by_tables(
    answer: Callable[[Sequence[RunSummary]], Answer],
) -> Callable[[Sequence[RunSummary]], Answer]:
    """`answer`, asked again of the same runs only when a table has changed.

    Raises `WrongUse` where a table is gone.
    """
    known: dict[tuple[_Stamp, ...], Answer] = {}

    def asked(runs: Sequence[RunSummary]) -> Answer:
        key = tuple(_stamp(run) for run in runs)
        if key not in known:
            while len(known) >= _MOST:
                known.pop(next(iter(known)), None)
            known[key] = answer(runs)
        return known[key]

    return asked


def _stamp(run: RunSummary) -> _Stamp:
    try:
        state = run.results.stat()
    except OSError:
        raise WrongUse(
            "the table of the run is gone", FilePlace(run.results), "run the experiment again"
        ) from None
    return str(run.results), state.st_mtime_ns, state.st_size
