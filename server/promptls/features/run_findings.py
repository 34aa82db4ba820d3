"""What the last runs of a file's experiments say against it, and against the rows of its data sets."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from promptls.workspace.snapshot import Snapshot

if TYPE_CHECKING:
    from promptls.features.experiment_runs import ExperimentRuns
    from promptls.rules.failing_row import RowFinding
    from promptls.rules.rule import Finding, Severity


def run_findings(snapshot: Snapshot, path: str, runs: Iterable[ExperimentRuns]) -> tuple[Finding, ...]:
    """The findings in the file that the last runs of its experiments give; none of stale ones."""
    newest_first = [run for each in runs for run in each.newest_first]
    if not newest_first:
        return ()
    from promptls.rules.checking.runs import check_runs

    return check_runs(snapshot, path, newest_first)


def row_findings(
    snapshot: Snapshot, path: str, runs: Iterable[ExperimentRuns]
) -> tuple[tuple[RowFinding, Severity], ...]:
    """What those runs say of rows in the data sets themselves, with the severity from the settings."""
    fresh = [each for each in runs if any(not run.stale for run in each.newest_first)]
    if not fresh:
        return ()
    from promptls.rules.checking.check import severity_of
    from promptls.rules.failing_row import RULE, rows_in_datasets

    severity = severity_of(RULE, snapshot.project(path).settings)
    if severity is None:
        return ()
    return tuple((found, severity) for each in fresh for found in rows_in_datasets(each.newest_first))
