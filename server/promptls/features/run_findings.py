"""What the last run of an experiment says against the prompt, at the place that declares the experiment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from promptls.features.experiment_runs import ExperimentRuns, experiment_span
from promptls.rules.rule import Finding
from promptls.workspace.snapshot import Snapshot

RULE = "failing-row"


def run_findings(snapshot: Snapshot, path: str, runs: Iterable[ExperimentRuns]) -> Iterator[Finding]:
    """A finding for each experiment of the file whose last run has failed rows and is not stale."""
    template = snapshot.template(path)
    if template is None:
        return
    for each in runs:
        last = each.last
        span = experiment_span(template, each.name)
        if last is None or last.stale or not last.failed or span is None:
            continue
        message = (
            f"{last.failed} of {last.rows} rows failed in the last run, `{last.name}`: its results say why"
        )
        yield Finding(span, message, rule=RULE, severity="information")
