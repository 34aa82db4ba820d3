"""The main loop of runs: concurrent tasks, within the budget, with progress.

Tasks are defined by the kinds of runs: calling a model with a row of a prompt (`prompt_runner.py`), calling a
Python function with a row (`python/program_runner.py`), or synthesizing a row of a test set
(`testset/synthesis.py`).
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final, Generic, TypeVar

from promptls.experiments.budget import ExpectedUsage, Spending
from promptls.experiments.run_protocol import RowFinished

_RATE_ROWS: Final = 100
"""Number of most recently finished rows used to compute the rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of a task: the number of calls, and the tokens and US dollars that were spent."""

    calls: int = 0
    tokens: int = 0
    cost: float = 0.0


AnyOutcome = TypeVar("AnyOutcome", bound=Outcome)


@dataclass(frozen=True, slots=True)
class Task(Generic[AnyOutcome]):
    """A unit of work. `expected` estimates its usage when the task starts; None means no usage."""

    perform: Callable[[], Awaitable[AnyOutcome]]
    expected: Callable[[], ExpectedUsage | None] = lambda: None


async def work_through(
    tasks: Iterator[Task[AnyOutcome]],
    at_once: int,
    keep: Callable[[AnyOutcome], None],
    spending: Spending | None = None,
) -> None:
    """Perform the tasks, up to `at_once` concurrently, and pass each outcome to `keep`, in any order.

    No further task is started once `spending` does not allow it. If a task raises or the caller is
    cancelled, all tasks are cancelled.
    """

    async def work() -> None:
        for task in tasks:
            expected = task.expected() if spending is not None else None
            if spending is not None and expected is not None and not spending.allows(expected):
                return
            outcome = await task.perform()
            if spending is not None and expected is not None:
                spending.settle(expected, calls=outcome.calls, tokens=outcome.tokens, cost=outcome.cost)
            keep(outcome)

    workers = [asyncio.create_task(work()) for _ in range(max(1, at_once))]
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)


class Progress:
    """Measures the rate of finished rows."""

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self._ends: deque[float] = deque([self._began], _RATE_ROWS)

    def timed(self, event: RowFinished) -> RowFinished:
        """Return the event of a row that has just finished, with elapsed and remaining time and the rate."""
        now = time.perf_counter()
        rate = len(self._ends) / max(now - self._ends[0], 1e-9)
        self._ends.append(now)
        return replace(event, seconds=now - self._began, left=(event.total - event.done) / rate, rate=rate)
