"""The experiments of a prompt file, each with its last runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from promptls.meaning.kind import Kind
from promptls.workspace.python_experiments import experiments_for
from promptls.workspace.snapshot import Snapshot

if TYPE_CHECKING:
    from promptls.experiments.history import MetricSummary, RunSummary


@dataclass(frozen=True, slots=True)
class ExperimentRuns:
    """An experiment by its name, with the run whose scores count, which knows the one before.

    `last` is None before the first run. `later` are newer runs over some rows or examples, the newest first.
    """

    name: str
    last: RunSummary | None
    later: tuple[RunSummary, ...] = ()
    has_other_dataset: bool = False
    """Whether the data set has changed since the last run, as far as that is quickly seen."""

    @property
    def newest_first(self) -> tuple[RunSummary, ...]:
        """All of its runs, the newest first."""
        return (*self.later, *([self.last] if self.last is not None else []))


def experiment_names(snapshot: Snapshot, path: str) -> tuple[str, ...]:
    """The names of the experiments that the file may run: its own, the project's, those in Python."""
    template = snapshot.template(path)
    if template is None or snapshot.kind(path) not in {Kind.PARTS, Kind.OBJECT, Kind.EVALUATION}:
        return ()
    own = template.declarations.settings.experiments or {}
    written = (experiment.name for experiment in experiments_for(snapshot.written, path))
    return tuple(dict.fromkeys([*own, *snapshot.project(path).settings.experiments, *written]))


def experiment_runs(snapshot: Snapshot, path: str) -> tuple[ExperimentRuns, ...]:
    """The file's experiments in the order of their declaration; reads the manifests of their last runs."""
    names = experiment_names(snapshot, path)
    if not names:
        return ()
    from promptls.experiments.last_runs import last_runs

    unsaved = snapshot.unsaved()
    found = ((name, last_runs(Path(path), name, unsaved=unsaved)) for name in names)
    return tuple(
        ExperimentRuns(name, runs.scored, runs.later, _has_other_dataset(runs.scored)) for name, runs in found
    )


def _has_other_dataset(run: RunSummary | None) -> bool:
    """Whether the data set of the run has changed since; not looked at where it is long."""
    from promptls.datasets.known import MOST_BYTES
    from promptls.experiments.failed_rows import unchanged_dataset
    from promptls.experiments.history import dataset_of

    named = dataset_of(run) if run is not None else None
    if run is None or named is None:
        return False
    try:
        is_short = named[0].stat().st_size <= MOST_BYTES
    except OSError:
        return True
    return is_short and unchanged_dataset(run) is None


def change_text(run: RunSummary, metric: MetricSummary) -> str:
    """The change of a metric since the run before, as ` (+5)` in points or units; empty without one."""
    before = run.previous.metric(metric.name) if run.previous else None
    if before is None or before.value is None or metric.value is None:
        return ""
    change = metric.value - before.value
    if metric.kind == "discrete":
        points = round(change * 100)
        return f" ({points:+d})" if points else " (±0)"
    return f" ({change:+.3g})" if change else " (±0)"
