"""Code lenses above a prompt and its examples: preview, experiments to run, and their results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

from promptls.ide.experiment_runs import ExperimentRuns, change_text, shows_examples
from promptls.models.keys import Destination
from promptls.semantic.kind import Kind
from promptls.text.format import in_dollars, plural, shorten_line
from promptls.workspace.snapshot import Snapshot

if TYPE_CHECKING:
    from promptls.experiments.history import RunSummary
    from promptls.experiments.run_protocol import Planned

_MAX_RESPONSE = 60
_MINUTE = 100
"""The number of seconds from which on a time is displayed in minutes."""


class Running(NamedTuple):
    """The progress of a run: the number of results, their total, and the remaining seconds, if known."""

    done: int
    total: int
    left: float | None = None


def running_text(experiment: str, running: Running) -> str:
    """Return `Running triage: 12 of 50 · 3 s left`."""
    if not running.total:
        return f"Running {experiment}: rendering the rows"
    left = f" · {seconds_text(running.left)} left" if running.left is not None else ""
    return f"Running {experiment}: {running.done} of {running.total}{left}"


def progress_text(done: int, total: int, rate: float | None, left: float | None) -> str:
    """Return `12 of 50 rows, 1.5 a second, 25 s left`; only the rows at the start and end of a run."""
    texts = [f"{done:,} of {total:,} rows"]
    if rate is not None and done < total:
        texts.append(f"{rate:.1f} a second")
    if left is not None and done < total:
        texts.append(f"{seconds_text(left)} left")
    return ", ".join(texts)


def plan_text(planned: Planned) -> str:
    """Return the plan in one sentence: `12 of 50 rendered prompts are changed by the edit; 12 calls, …`."""
    texts = [plural(planned.rows, "row") if planned.changed is None else changed_text(planned)]
    texts.append(f"{plural(planned.calls, 'call')} to make, {planned.cached} already answered")
    cost = planned.longest_cost if planned.longest_cost is not None else planned.prompt_cost
    if cost is not None:
        texts.append(f"about {in_dollars(cost)}" if cost else "free")
    if planned.failing:
        texts.append(f"{planned.failing} rows cannot be rendered")
    if planned.over_limit:
        texts.append(f"{planned.over_limit} rows are over the token limit")
    texts += dict.fromkeys(Destination(**each).description() for each in planned.sends)
    return "; ".join(texts)


def changed_text(planned: Planned) -> str:
    """Return a summary of the edit's effect: `12 of 50 rendered prompts differ from the last run`."""
    return f"{planned.changed} of {planned.rows} rendered prompts differ from the last run"


def seconds_text(seconds: float) -> str:
    """Return a time as text, in whole seconds or minutes."""
    return f"{seconds:.0f} s" if seconds < _MINUTE else f"{seconds / 60:.0f} min"


def verdict_text(run: RunSummary, cells: Mapping[str, str]) -> str:
    """Return a summary of one result: its scores or its error.

    Without metrics, the beginning of the answer.
    """
    error = cells.get("error")
    if error:
        text = f"failed: {shorten_line(error, _MAX_RESPONSE)}"
    else:
        scores = [f"{metric.name} {score}" for metric in run.metrics if (score := cells.get(metric.name))]
        text = ", ".join(scores) or shorten_line(cells.get("response") or "answered", _MAX_RESPONSE)
    return f"{text} · stale" if run.stale else text


PREVIEW = "promptls.preview"
RUN = "promptls.runExperiment"
CANCEL = "promptls.cancelRun"
RESULTS = "promptls.showResults"

RUNNABLE = frozenset({Kind.PARTS, Kind.OBJECT, Kind.EVALUATION})
"""The kinds of files that experiments can be run on."""


@dataclass(frozen=True, slots=True)
class Action:
    """A command for a file: its title, its name, and its arguments in addition to the URI."""

    title: str
    command: str
    arguments: dict[str, Any]
    tooltip: str = ""


@dataclass(frozen=True, slots=True)
class Lens:
    """An action that is displayed above the line of `offset`."""

    offset: int
    action: Action


def actions(snapshot: Snapshot, path: str, experiments: Iterable[str]) -> tuple[Action, ...]:
    """Return the actions for the file at `path`: preview it, and run each experiment."""
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
    """Return the lenses of the file at `path`, from left to right: for the file, then for its examples.

    `running` contains the running experiments, by name.
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
            yield Action(running_text(name, running[name]), RESULTS, {"experiment": name})
            yield Action("Cancel", CANCEL, {"experiment": name}, "The finished rows are kept")
        else:
            yield action
            yield from _resume(known.get(name))
        last = known[name].last if name in known else None
        if last is not None:
            arguments = {"experiment": name, "run": str(last.results)}
            yield Action(scores_text(known[name], _MAX_SCORES), RESULTS, arguments, scores_tooltip(last))


def _resume(runs: ExperimentRuns | None) -> Iterator[Action]:
    if runs is not None and (stopped := runs.stopped) is not None:
        title = f"Resume: stopped after {stopped.done:,} of {stopped.rows:,} rows"
        tooltip = f"Continues {stopped.name}; finished rows are not run again"
        yield Action(title, RUN, {"experiment": runs.name, "resume": stopped.name}, tooltip)


def _over_examples(snapshot: Snapshot, path: str, runs: tuple[ExperimentRuns, ...]) -> Iterator[Lens]:
    template = snapshot.template(path)
    if template is None or not runs or not template.declarations.examples:
        return
    from promptls.experiments.examples import example_result
    from promptls.experiments.row_choice import one_example

    output = template.declarations.settings.output_key
    for number, example in enumerate(template.declarations.examples, start=1):
        start = example.span.start
        chosen = {"experiment": runs[0].name, "rows": one_example(number)}
        yield Lens(start, Action("Run", RUN, chosen, f"Run {runs[0].name} on this example"))
        for each in runs:
            found = example_result(number, example.data, output, each.with_examples)
            if found is None:
                continue
            text = verdict_text(found.run, found.cells)
            text = f"{each.name}: {text}" if len(runs) > 1 else text
            arguments = {"experiment": each.name, "run": str(found.run.results)}
            yield Lens(start, Action(text, RESULTS, arguments, found.cells.get("response") or ""))


_MAX_SCORES = 3
"""The maximum number of scores in a lens; the others are in its tooltip."""
_MAX_CHOICE = 24


def scores_text(runs: ExperimentRuns, limit: int | None = None) -> str:
    """Return the scores of the last run, at most `limit`, with changes and notes on the run."""
    last = runs.last
    if last is None:
        return ""
    scores = [f"{metric.name} {metric.text}{change_text(last, metric)}" for metric in last.metrics[:limit]]
    more = [f"{len(last.metrics) - len(scores)} more"] if len(last.metrics) > len(scores) else []
    failed = [f"{last.failed} of {last.rows} rows failed"] if last.failed else []
    notes = [", ".join([*scores, *more, *failed]) or f"{last.rows} rows"]
    if len(last.models) > 1:
        notes.append(f"{len(last.models)} models")
    if not last.is_complete:
        notes.append(f"partial run: {_chosen_text(last.rows_chosen or '')}")
    if last.cached:
        notes.append("from the cache" if last.cached >= last.rows else f"{last.cached:,} from the cache")
    if last.cached_input_tokens:
        notes.append(f"prefix cache {last.cached_input_tokens / (last.input_tokens or 1):.0%}")
    if last.reasoning_tokens:
        notes.append(f"{last.reasoning_tokens:,} reasoning tokens")
    if last.stale:
        notes.append("stale")
    elif runs.has_other_dataset:
        notes.append("other dataset")
    return " · ".join(notes)


def _chosen_text(chosen: str) -> str:
    """Return the rows of a partial run: `first 5 rows`, `rows 3, 7-9`, or the condition."""
    if chosen.isdigit():
        return f"first {plural(int(chosen), 'row')}"
    is_numbers = not chosen.strip("0123456789-, ")
    text = ", ".join(each.strip() for each in chosen.split(",") if each.strip()) if is_numbers else chosen
    if len(text) > _MAX_CHOICE:
        cut = text[:_MAX_CHOICE]
        text = f"{cut.rpartition(',')[0] if is_numbers else cut}…"
    return f"rows {text}" if is_numbers else f"rows with {text}"


def scores_tooltip(run: RunSummary) -> str:
    """Return the tooltip of a run's lens: all scores, the scores of each model, and the baseline."""
    lines = [f"{run.name}: {run.rows} results of {' and '.join(run.models)}"]
    if not run.is_complete:
        lines.append(f"A partial run over {_chosen_text(run.rows_chosen or '')}: its scores are not compared")
    if len(run.metrics) > _MAX_SCORES:
        lines.append(", ".join(f"{metric.name} {metric.text}" for metric in run.metrics))
    if len(run.by_model) > 1:
        lines += [
            f"{model}: {', '.join(f'{score.name} {score.text}' for score in scores)}"
            for model, scores in run.by_model.items()
        ]
    if run.cached_input_tokens or run.reasoning_tokens:
        lines.append(run.token_text)
    if run.previous is not None:
        lines.append(f"compared with {run.previous.name}")
    if run.stale:
        lines.append("the prompt, or what it includes, has changed since")
    return "\n".join(lines)


COMPARE = "promptls.compareRuns"
LEAVE_ONE_OUT = "promptls.leaveOneOut"

FIRST_ROWS = 5
"""The number of rows for the action that runs the first rows."""


def run_actions(
    snapshot: Snapshot, path: str, offset: int, runs: tuple[ExperimentRuns, ...]
) -> Iterator[tuple[str, Action]]:
    """Yield the actions for the file at `path`: for the example at `offset`, then for each experiment.

    Each is preceded by the suffix of its kind.
    """
    template = snapshot.template(path)
    if template is None or snapshot.kind(path) not in RUNNABLE:
        return
    yield from _on_example(snapshot, path, offset, runs)
    examples = shows_examples(snapshot, path) if runs else False
    for each in runs:
        named = {"experiment": each.name}
        yield from (("resume", action) for action in _resume(each))
        if each.last is not None:
            title = f"Run the failing rows of {each.name}"
            yield "failing", Action(title, RUN, {**named, "rows": "failing"})
        if (partial := _partial_run(each)) is not None:
            title = f"Run the rows that the partial run of {each.name} left out"
            yield "complete", Action(title, RUN, {**named, "complete": str(partial.results)})
        if each.last is not None:
            title = f"Run {each.name} again, and ask the models for known answers too"
            yield "fresh", Action(title, RUN, {**named, "fresh": True})
        title = f"Run the first {FIRST_ROWS} rows of {each.name}"
        yield "first", Action(title, RUN, {**named, "rows": str(FIRST_ROWS)})
        if each.last is not None and each.last.previous is not None:
            yield "compare", Action(f"Compare {each.name} with its run before", COMPARE, named)
        if examples:
            title = f"Find the examples that earn their tokens in {each.name}"
            yield "leaveOneOut", Action(title, LEAVE_ONE_OUT, named)


def _partial_run(runs: ExperimentRuns) -> RunSummary | None:
    """Return the latest run over some rows of the dataset, if it is newer than the last complete run."""
    from promptls.experiments.row_choice import is_of_examples

    newer = takewhile(lambda run: not run.is_complete, runs.newest_first)
    return next((run for run in newer if not run.stale and not is_of_examples(run.rows_chosen)), None)


def _on_example(
    snapshot: Snapshot, path: str, offset: int, runs: tuple[ExperimentRuns, ...]
) -> Iterator[tuple[str, Action]]:
    from promptls.experiments.row_choice import one_example

    template = snapshot.template(path)
    for number, example in enumerate(template.declarations.examples if template else (), start=1):
        if example.span.touches(offset):
            for each in runs:
                arguments = {"experiment": each.name, "rows": one_example(number)}
                yield "example", Action(f"Run {each.name} on this example", RUN, arguments)
