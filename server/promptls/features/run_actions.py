"""What can be run from a place in a prompt, beside its experiments as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from promptls.features.code_lenses import RUN, RUNNABLE, Action
from promptls.features.example_worth import shows_examples
from promptls.features.experiment_runs import ExperimentRuns
from promptls.workspace.snapshot import Snapshot

COMPARE = "promptls.compareRuns"
LEAVE_ONE_OUT = "promptls.leaveOneOut"

FIRST_ROWS = 5
"""How many of the first rows are run by an action."""


@dataclass(frozen=True, slots=True)
class RunAction:
    """An action, and the last word of its kind: `example`, `failing`, `first`, `compare`, `leaveOneOut`."""

    kind: str
    action: Action


def run_actions(
    snapshot: Snapshot, path: str, offset: int, runs: tuple[ExperimentRuns, ...]
) -> Iterator[RunAction]:
    """The actions for the file at `path`: on the example at `offset` first, then for each experiment."""
    template = snapshot.template(path)
    if template is None or snapshot.kind(path) not in RUNNABLE:
        return
    yield from _on_example(snapshot, path, offset, runs)
    examples = shows_examples(snapshot, path) if runs else False
    for each in runs:
        named = {"experiment": each.name}
        if each.last is not None:
            title = f"Run the failing rows of {each.name}"
            yield RunAction("failing", Action(title, RUN, {**named, "rows": "failing"}))
        title = f"Run the first {FIRST_ROWS} rows of {each.name}"
        yield RunAction("first", Action(title, RUN, {**named, "rows": str(FIRST_ROWS)}))
        if each.last is not None and each.last.previous is not None:
            yield RunAction("compare", Action(f"Compare {each.name} with its run before", COMPARE, named))
        if examples:
            title = f"Find the examples that earn their tokens in {each.name}"
            yield RunAction("leaveOneOut", Action(title, LEAVE_ONE_OUT, named))


def _on_example(
    snapshot: Snapshot, path: str, offset: int, runs: tuple[ExperimentRuns, ...]
) -> Iterator[RunAction]:
    from promptls.experiments.example_choice import one_example

    template = snapshot.template(path)
    for number, example in enumerate(template.declarations.examples if template else (), start=1):
        if example.span.contains(offset):
            for each in runs:
                arguments = {"experiment": each.name, "rows": one_example(number)}
                yield RunAction("example", Action(f"Run {each.name} on this example", RUN, arguments))
