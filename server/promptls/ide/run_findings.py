"""What the last runs of a file's experiments say against it, and against the rows of its datasets."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from promptls.workspace.snapshot import Snapshot

if TYPE_CHECKING:
    from promptls.ide.experiments import ExperimentRuns
    from promptls.lint.rule import Finding, Severity
    from promptls.lint.rules.experiments.failing_row import RowFinding


def run_findings(snapshot: Snapshot, path: str, runs: Iterable[ExperimentRuns]) -> tuple[Finding, ...]:
    """Return the findings in the file that the last runs of its experiments give; none of stale ones."""
    newest_first = [run for each in runs for run in each.newest_first]
    if not newest_first:
        return ()
    from promptls.lint.runs import check_runs

    return check_runs(snapshot, path, newest_first)


def row_findings(
    snapshot: Snapshot, path: str, runs: Iterable[ExperimentRuns]
) -> tuple[tuple[RowFinding, Severity], ...]:
    """Return what those runs say of rows in the datasets themselves, with the severity from the settings."""
    fresh = [each for each in runs if any(not run.stale for run in each.newest_first)]
    if not fresh:
        return ()
    from promptls.lint.rules.experiments.failing_row import RULE, rows_in_datasets
    from promptls.lint.runner import severity_of

    severity = severity_of(RULE, snapshot.project(path).settings)
    if severity is None:
        return ()
    return tuple((found, severity) for each in fresh for found in rows_in_datasets(each.newest_first))
