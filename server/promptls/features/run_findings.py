"""What the last runs of a file's experiments say against it, and against the rows of its data sets."""

from __future__ import annotations

from collections.abc import Iterable

from promptls.features.experiment_runs import ExperimentRuns
from promptls.rules.check import severity_of
from promptls.rules.check_runs import check_runs
from promptls.rules.failing_row import RULE, RowFinding, rows_in_datasets
from promptls.rules.rule import Finding, Severity
from promptls.workspace.snapshot import Snapshot


def run_findings(snapshot: Snapshot, path: str, runs: Iterable[ExperimentRuns]) -> tuple[Finding, ...]:
    """The findings in the file that the last runs of its experiments give; none of stale ones."""
    last = [each.last for each in runs if each.last is not None]
    return check_runs(snapshot, path, last) if last else ()


def row_findings(
    snapshot: Snapshot, path: str, runs: Iterable[ExperimentRuns]
) -> tuple[tuple[RowFinding, Severity], ...]:
    """What those runs say of rows in the data sets themselves, with the severity from the settings."""
    last = [each.last for each in runs if each.last is not None and not each.last.stale]
    severity = severity_of(RULE, snapshot.project(path).settings) if last else None
    return tuple((found, severity) for found in rows_in_datasets(last)) if severity else ()
