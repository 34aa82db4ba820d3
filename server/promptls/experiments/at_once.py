"""What runs of every kind share: work that many do at once, and the end of a budget."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from promptls.experiments.budget import Spending
from promptls.experiments.journal import Journal
from promptls.text.failure import Failure, FilePlace


class BudgetSpentError(Failure):
    """The run has stopped because its budget is spent; it can be gone on with."""


async def done_at_once(work: Callable[[], Coroutine[Any, Any, None]], workers: int) -> None:
    """So many workers have done their work; where one fails or the caller is cancelled, all have ended."""
    tasks = [asyncio.create_task(work()) for _ in range(workers)]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def check_spending(spending: Spending, journal: Journal, planned: int, what: str) -> None:
    """Raises `BudgetSpentError` where the budget has stopped the run before all `planned` were done."""
    if spending.reached is None:
        return
    raise BudgetSpentError(
        f"the budget of {spending.reached} is spent after {journal.count} of {planned} {what}",
        FilePlace(journal.path),
        f"go on with a larger one: `promptls run --resume {journal.name} --max-calls …`, "
        "`--max-tokens …` or `--max-cost …`",
    )
