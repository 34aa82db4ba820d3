"""The runs that are asked for, and what is shown of them: the view, the report, the comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from promptls.experiments.comparison import Comparison, compare_with
from promptls.experiments.history import RunSummary, find_run, last_run, last_runs, read_run, runs_of
from promptls.results_view import wire
from promptls.text.errors import FilePlace, UsageError, optional

_MAX_CHANGES: Final = 200
"""Rows whose change an answer names."""


def view_answer(arguments: Mapping[str, Any]) -> wire.ResultsView:
    """Return the view of the runs that are asked for; with `quick`, what their manifests say of them.

    They are the run whose table is `run`, or the last one of the prompt at `path` and its `experiment`, and
    before it those of the tables `against`, or the run before. `unsaved` are texts of files by their path.
    """
    from promptls.results_view.view import results_view

    return results_view(_asked(arguments), quick=arguments.get("quick") is True)


def report_answer(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the report of the same runs as `html`, with the `run` that it shows and its `name`."""
    from promptls.results_view.report import report_html

    runs = _asked(arguments)
    return {"html": report_html(runs), "run": str(runs[-1].results), "name": runs[-1].name}


def compare_answer(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the comparison in sentences, and the rows whose score changed.

    `runs` are two tables, the older one first; without them, the last run over all rows of the experiment
    is compared with the one before.
    """
    named = optional(arguments, "runs", list)
    before, after = _before_and_after(arguments) if named is None else _named(named)
    return _compared(compare_with(before, [after])[0])


def _asked(arguments: Mapping[str, Any]) -> list[RunSummary]:
    """Return the runs to compare with, and behind them the one that is shown."""
    named = optional(arguments, "run", str)
    against = optional(arguments, "against", list)
    run = _of_prompt(arguments) if named is None else _of_table(Path(named), _unsaved(arguments))
    if against is None:
        return [run] if run.previous is None else [run.previous, run]
    others = [find_run(str(each)) for each in dict.fromkeys(against)]
    return [*(other for other in others if other.results != run.results), run]


def _of_prompt(arguments: Mapping[str, Any]) -> RunSummary:
    path, experiment = _path(arguments), optional(arguments, "experiment", str)
    run = last_run(path, experiment=experiment, unsaved=_unsaved(arguments))
    if run is None:
        what = f"the experiment `{experiment}`" if experiment else "the prompt"
        remedy = f"run it by the lens over it, or with `promptls run {path.name}`"
        raise UsageError(f"{what} has not been run yet", FilePlace(path), remedy)
    return run


def _of_table(table: Path, unsaved: Mapping[str, str]) -> RunSummary:
    """Return the run of a table, with the run of the same experiment before it."""
    run = read_run(table.with_suffix(".json"))
    older = list(runs_of(run.prompt, experiment=run.experiment, unsaved=unsaved))
    names = [each.name for each in older]
    if run.name not in names:
        return run
    index = names.index(run.name)
    return replace(older[index], previous=older[index + 1] if index + 1 < len(older) else None)


def _named(runs: Sequence[Any]) -> tuple[RunSummary, RunSummary]:
    if len(runs) != 2:  # noqa: PLR2004 - a comparison has two sides
        raise UsageError("two runs are needed", remedy='pass {"runs": ["<older>.csv", "<newer>.csv"]}')
    before, after = (read_run(Path(str(run)).with_suffix(".json")) for run in runs)
    return before, after


def _before_and_after(arguments: Mapping[str, Any]) -> tuple[RunSummary, RunSummary]:
    path, experiment = _path(arguments), optional(arguments, "experiment", str)
    newest = last_run(path, experiment=experiment)
    name = experiment or (newest.experiment if newest is not None else None)
    scored = last_runs(path, name, unsaved=_unsaved(arguments)).scored if name is not None else None
    if scored is None or scored.previous is None:
        said = "has been run only once" if scored is not None else "has not been run yet"
        raise UsageError(
            f"the prompt {said}, so there is nothing to compare", FilePlace(path), "run it again"
        )
    return scored.previous, scored


def _path(arguments: Mapping[str, Any]) -> Path:
    path = optional(arguments, "path", str)
    if path is None:
        raise UsageError("the command needs `path`, of a prompt file, or `run`, of a run's table")
    return Path(path)


def _unsaved(arguments: Mapping[str, Any]) -> dict[str, str]:
    return {str(path): str(text) for path, text in (optional(arguments, "unsaved", dict) or {}).items()}


def _compared(found: Comparison) -> dict[str, Any]:
    return {
        "before": {"run": str(found.before.results), "name": found.before.name},
        "after": {"run": str(found.after.results), "name": found.after.name},
        "sentences": [*(f"{metric.metric}: {metric.words}" for metric in found.metrics), *found.notes],
        "changes": [
            {
                "id": change.id,
                "metric": change.metric,
                "before": change.before,
                "after": change.after,
                "better": change.better,
            }
            for change in found.changes[:_MAX_CHANGES]
        ],
        "message": "; ".join(f"{metric.metric}: {metric.words}" for metric in found.metrics),
    }
