"""What stands above a prompt: preview it, run its experiments, and their last scores."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from promptls.features.experiment_runs import ExperimentRuns, change_text
from promptls.meaning.kind import Kind
from promptls.workspace.snapshot import Snapshot

PREVIEW = "promptls.preview"
RUN = "promptls.runExperiment"
RESULTS = "promptls.showResults"


@dataclass(frozen=True, slots=True)
class Action:
    """A command that can be given for a file: its words, its name, its arguments beside the URI."""

    title: str
    command: str
    arguments: dict[str, Any]


def actions(snapshot: Snapshot, path: str, experiments: Iterable[str]) -> tuple[Action, ...]:
    """What can be done with the file at `path`: preview it, and run each experiment."""
    if snapshot.kind(path) not in {Kind.PARTS, Kind.OBJECT}:
        return ()
    return (
        Action("Preview", PREVIEW, {}),
        *(Action(f"Run {name}", RUN, {"experiment": name}) for name in experiments),
    )


def code_lenses(snapshot: Snapshot, path: str, runs: Iterable[ExperimentRuns]) -> tuple[Action, ...]:
    """The lenses over the file at `path`, from left to right; behind each experiment its last scores."""
    runs = tuple(runs)
    found = []
    for action in actions(snapshot, path, [each.name for each in runs]):
        found.append(action)
        name = action.arguments.get("experiment")
        found += [
            Action(scores_text(each), RESULTS, {"experiment": each.name})
            for each in runs
            if each.name == name and each.last is not None
        ]
    return tuple(found)


def scores_text(runs: ExperimentRuns) -> str:
    """The scores of the last run with their change since the one before, and whether they still hold."""
    last = runs.last
    if last is None:
        return ""
    scores = [f"{metric.name} {metric.text}{change_text(last, metric)}" for metric in last.metrics]
    failed = [f"{last.failed} of {last.rows} rows failed"] if last.failed else []
    words = ", ".join([*scores, *failed]) or f"{last.rows} rows"
    return f"{words} · stale" if last.stale else words
