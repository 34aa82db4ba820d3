"""The rows of a code-defined experiment, some at a time, in the order of the dataset in the end."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterable, Iterator, Sized
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TextIO, cast

from promptls.datasets.cells import flat_row, json_line
from promptls.experiments.pipeline import Outcome, Task, work_through
from promptls.experiments.python.row_function import FunctionOutcome, RowFunction
from promptls.security.private_files import open_private

_EVERY: float = 0.1
"""Seconds between two lines of progress."""


@dataclass(frozen=True, slots=True)
class _IndexedOutcome(Outcome):
    index: int
    outcome: FunctionOutcome


class FunctionRun:
    """One run, from its first row to its last."""

    def __init__(
        self,
        function: RowFunction,
        concurrency: int,
        journal: Path | None = None,
        progress: TextIO | None = None,
    ) -> None:
        """`journal` is where each finished row is written at once, `progress` where a line tells of them."""
        self._function = function
        self._concurrency = concurrency
        self._journal = journal
        self._progress = progress
        self._outcomes: dict[int, FunctionOutcome] = {}
        self._began = self._told = time.perf_counter()
        self.is_complete = False

    @property
    def outcomes(self) -> list[FunctionOutcome]:
        """What is finished, in the order of the dataset."""
        return [self._outcomes[index] for index in sorted(self._outcomes)]

    async def work(self, dataset: Iterable[Any]) -> None:
        """Every row has its outcome; raises what the dataset raises, and OSError of the journal."""
        total = len(dataset) if isinstance(dataset, Sized) else None
        at_once = self._concurrency if total is None else min(self._concurrency, total)
        tasks = (Task(partial(self._call, index, row)) for index, row in enumerate(dataset))
        with self._opened_journal() as journal:
            try:
                await work_through(tasks, at_once, partial(self._keep, journal, total))
            finally:
                if self._progress is not None:
                    self._progress.write("\n")
        self.is_complete = True

    async def _call(self, index: int, row: Any) -> _IndexedOutcome:
        return _IndexedOutcome(index, await self._function.call(row))

    def _keep(self, journal: TextIO | None, total: int | None, found: _IndexedOutcome) -> None:
        outcome = self._outcomes[found.index] = found.outcome
        if journal is not None:
            values = outcome.result if isinstance(outcome.result, dict) else outcome.result.model_dump()
            journal.write(f"{json_line(flat_row(values))}\n")
            journal.flush()
        self._report(total)

    @contextlib.contextmanager
    def _opened_journal(self) -> Iterator[TextIO | None]:
        if self._journal is None:
            yield None
            return
        self._journal.parent.mkdir(parents=True, exist_ok=True)
        with open_private(self._journal, "w", encoding="utf-8") as stream:
            yield cast("TextIO", stream)

    def _report(self, total: int | None) -> None:
        now, done = time.perf_counter(), len(self._outcomes)
        if self._progress is None or (now - self._told < _EVERY and done != total):
            return
        self._told = now
        rate = done / max(now - self._began, 1e-9)
        failed = sum(outcome.error is not None for outcome in self._outcomes.values())
        share = "" if total is None else f"{done / max(total, 1):>4.0%} "
        of = "" if total is None else f"/{total}"
        left = "" if total is None else f", {(total - done) / max(rate, 1e-9):.0f} s left"
        told = f"Running experiment: {share}{done}{of} [{rate:.2f} rows/s{left}]"
        self._progress.write(f"\r{told}{f', {failed} failed' if failed else ''}   ")
        self._progress.flush()


def progress_stream() -> TextIO | None:
    """Return the error stream, where somebody looks at it."""
    return sys.stderr if sys.stderr is not None and sys.stderr.isatty() else None
