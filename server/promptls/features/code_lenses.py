"""What stands above a prompt and above its examples: preview, experiments to run, and what came of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from promptls.features.experiment_runs import ExperimentRuns, change_text
from promptls.features.run_words import Running, running_text, verdict_text
from promptls.meaning.kind import Kind
from promptls.workspace.snapshot import Snapshot

if TYPE_CHECKING:
    from promptls.experiments.history import MetricSummary, RunSummary

PREVIEW = "promptls.preview"
RUN = "promptls.runExperiment"
CANCEL = "promptls.cancelRun"
RESULTS = "promptls.showResults"

RUNNABLE = frozenset({Kind.PARTS, Kind.OBJECT, Kind.EVALUATION})
"""The kinds of files that experiments are run on."""


@dataclass(frozen=True, slots=True)
class Action:
    """A command that can be given for a file: its words, its name, its arguments beside the URI."""

    title: str
    command: str
    arguments: dict[str, Any]
    tooltip: str = ""


@dataclass(frozen=True, slots=True)
class Lens:
    """An action that is offered above the line of `offset`."""

    offset: int
    action: Action


def actions(snapshot: Snapshot, path: str, experiments: Iterable[str]) -> tuple[Action, ...]:
    """What can be done with the file at `path`: preview it, and run each experiment."""
    if snapshot.kind(path) not in RUNNABLE:
        return ()
    return (
        Action("Preview", PREVIEW, {}),
        *(Action(f"Run {name}", RUN, {"experiment": name}) for name in experiments),
    )


def code_lenses(
    snapshot: Snapshot,
    path: str,
    runs: Iterable[ExperimentRuns],
    running: Mapping[str, Running] | None = None,
) -> tuple[Lens, ...]:
    """The lenses of the file at `path`, from left to right: over the file, then over its examples.

    `running` are the experiments that are being run, by name.
    """
    runs = tuple(runs)
    return (
        *(Lens(0, action) for action in _over_file(snapshot, path, runs, running or {})),
        *_over_examples(snapshot, path, runs),
    )


def _over_file(
    snapshot: Snapshot, path: str, runs: tuple[ExperimentRuns, ...], running: Mapping[str, Running]
) -> Iterator[Action]:
    known = {each.name: each for each in runs}
    for action in actions(snapshot, path, known):
        name = action.arguments.get("experiment", "")
        if name in running:
            tooltip = "Cancel the run; its finished rows are kept"
            yield Action(running_text(name, running[name]), CANCEL, {"experiment": name}, tooltip)
        else:
            yield action
        last = known[name].last if name in known else None
        if last is not None:
            arguments = {"experiment": name, "run": str(last.results)}
            yield Action(scores_text(known[name]), RESULTS, arguments, scores_tooltip(last))


def _over_examples(snapshot: Snapshot, path: str, runs: tuple[ExperimentRuns, ...]) -> Iterator[Lens]:
    template = snapshot.template(path)
    if template is None or not runs or not template.declarations.examples:
        return
    from promptls.experiments.example_choice import one_example
    from promptls.experiments.example_results import example_result

    output = template.declarations.settings.output_key
    for number, example in enumerate(template.declarations.examples, start=1):
        start = example.span.start
        chosen = {"experiment": runs[0].name, "rows": one_example(number)}
        yield Lens(start, Action("Run", RUN, chosen, f"Run {runs[0].name} on this example"))
        for each in runs:
            found = example_result(number, example.data, output, each.newest_first)
            if found is None:
                continue
            words = verdict_text(found.run, found.cells)
            words = f"{each.name}: {words}" if len(runs) > 1 else words
            arguments = {"experiment": each.name, "run": str(found.run.results)}
            yield Lens(start, Action(words, RESULTS, arguments, found.cells.get("response") or ""))


def scores_text(runs: ExperimentRuns) -> str:
    """The scores of the last run with their change since the one before, and whether they still hold."""
    last = runs.last
    if last is None:
        return ""
    scores = [f"{metric.name} {metric.text}{_details(last, metric)}" for metric in last.metrics]
    failed = [f"{last.failed} of {last.rows} rows failed"] if last.failed else []
    words = ", ".join([*scores, *failed]) or f"{last.rows} rows"
    some = f" · only rows {last.rows_chosen}" if last.rows_chosen is not None else ""
    if last.stale:
        return f"{words}{some} · stale"
    return f"{words}{some} · other data set" if runs.has_other_dataset else f"{words}{some}"


def _details(run: RunSummary, metric: MetricSummary) -> str:
    """The change since the run before; of several models the score of each."""
    if len(run.by_model) < 2:  # noqa: PLR2004 - one model has the whole run's score
        return change_text(run, metric)
    each = [
        f"{model} {score.text}"
        for model, scores in run.by_model.items()
        for score in scores
        if score.name == metric.name
    ]
    return f"{change_text(run, metric)} [{', '.join(each)}]"


def scores_tooltip(run: RunSummary) -> str:
    """What is known of the run beside its scores, in a line."""
    words = [f"{run.name}: {run.rows} results of {' and '.join(run.models)}"]
    if run.previous is not None:
        words.append(f"compared with {run.previous.name}")
    if run.stale:
        words.append("the prompt, or what it includes, has changed since")
    return "; ".join(words)
