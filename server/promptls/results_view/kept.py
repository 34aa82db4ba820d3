"""Answers that are kept as long as the tables that they are about stay the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeVar

from promptls.experiments.history import RunSummary
from promptls.experiments.result_pages import stamp_of_table
from promptls.security.files import Stamp

Answer = TypeVar("Answer")

# Answers that are kept of each question.
_MAX: Final = 32


def kept_by_tables(
    answer: Callable[[Sequence[RunSummary]], Answer],
) -> Callable[[Sequence[RunSummary]], Answer]:
    """`answer`, asked again of the same runs only when a table has changed.

    Raises `UsageError` where a table is gone.
    """
    known: dict[tuple[tuple[Path, Stamp], ...], Answer] = {}

    def asked(runs: Sequence[RunSummary]) -> Answer:
        key = tuple((run.results, stamp_of_table(run)) for run in runs)
        if key not in known:
            while len(known) >= _MAX:
                known.pop(next(iter(known)), None)
            known[key] = answer(runs)
        return known[key]

    return asked
