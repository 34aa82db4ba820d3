"""What an unfinished run has left in the store."""

from __future__ import annotations

from pathlib import Path

from promptls.experiments.scores import RowResult
from promptls.experiments.unfinished import RunFollower, unfinished_runs


def unfinished_run(results: Path) -> Path:
    """Return the path of the only unfinished run of a results folder."""
    (run,) = unfinished_runs(results)
    return run.path


def stored_results(run: Path) -> list[RowResult]:
    """Return the results of an unfinished run, in the order of their arrival."""
    return RunFollower(run).new_results()[1]
