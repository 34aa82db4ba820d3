"""The findings of `promptls check` in the last runs of experiments, the same as in editors."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from promptls.lint.rule import Finding
    from promptls.workspace.snapshot import Snapshot


def findings_of_runs(
    snapshot: Snapshot, paths: Iterable[str], rules: Container[str]
) -> dict[str, tuple[Finding, ...]]:
    """Return the findings of those `rules` that look at runs, by file; of runs of a prompt as it is now."""
    from promptls.ide.experiments import experiment_runs, run_findings
    from promptls.lint.runner import RUN_RULES

    if not any(rule.name in rules for rule in RUN_RULES):
        return {}
    return {
        path: tuple(
            finding
            for finding in run_findings(snapshot, path, experiment_runs(snapshot, path))
            if finding.rule in rules
        )
        for path in paths
    }
