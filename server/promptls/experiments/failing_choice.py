"""The rows of an experiment that its runs did not find good."""

from __future__ import annotations

from pathlib import Path

from promptls.experiments.failed_rows import failing_numbers
from promptls.experiments.last_runs import last_runs
from promptls.experiments.row_choice import RowChoice, numbered_rows
from promptls.text.errors import FilePlace, UsageError


def failing_choice(prompt: Path, experiment: str) -> RowChoice:
    """Return the rows whose newest result is not good; raises `UsageError` where no run says so of any."""
    before = last_runs(prompt, experiment)
    if before.scored is None:
        raise UsageError(
            "no run says yet which rows fail",
            FilePlace(prompt),
            "run all rows first: leave out `--rows failing`",
        )
    numbers = failing_numbers(before.newest_first)
    if not numbers:
        raise UsageError(
            f"no row failed in {before.scored.name}", FilePlace(before.scored.results), "run all rows"
        )
    return numbered_rows(numbers)
