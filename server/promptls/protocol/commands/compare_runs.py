"""`promptls.compareRuns`: the last run of an experiment, or one that is named, against another."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptls.protocol.commands.arguments import prompt_path
from promptls.protocol.shown_text import show_text
from promptls.text.arguments import optional
from promptls.text.failure import FilePlace, WrongUse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lsprotocol import types

    from promptls.experiments.comparison import Comparison
    from promptls.experiments.history import RunSummary
    from promptls.protocol.session import Session

_MOST_CHANGES = 200


async def compare_runs(
    session: Session, arguments: dict[str, Any], _token: types.ProgressToken | None
) -> dict[str, Any]:
    """The comparison in sentences, and the rows whose score changed.

    `runs` names the tables of two runs, the older one first; without it, the last run over all rows of the
    prompt's experiment is compared with the one before.
    """
    runs = optional(arguments, "runs", list)
    path = prompt_path(session, arguments) if runs is None else str((runs or [""])[0])
    experiment = optional(arguments, "experiment", str)
    unsaved = session.snapshot.unsaved()
    loop = asyncio.get_running_loop()
    result = await loop.run_in_executor(None, _compared, path, experiment, runs, unsaved)
    if not session.flags.panels:
        result["document"] = show_text(session, path, "comparison", _markdown(result))
    return result


def _compared(
    path: str, experiment: str | None, runs: list[Any] | None, unsaved: Mapping[str, str]
) -> dict[str, Any]:
    from promptls.experiments.comparison import compare_with

    before, after = _of_prompt(path, experiment, unsaved) if runs is None else _named(runs)
    return _result(compare_with(before, [after])[0])


def _named(runs: list[Any]) -> tuple[RunSummary, RunSummary]:
    from promptls.experiments.history import read_run

    if len(runs) != 2:  # noqa: PLR2004 - a comparison has two sides
        raise WrongUse("two runs are needed", remedy='pass {"runs": ["<older>.csv", "<newer>.csv"]}')
    before, after = (read_run(Path(str(run)).with_suffix(".json")) for run in runs)
    return before, after


def _of_prompt(
    path: str, experiment: str | None, unsaved: Mapping[str, str]
) -> tuple[RunSummary, RunSummary]:
    from promptls.experiments.history import last_run
    from promptls.experiments.last_runs import last_runs

    newest = last_run(Path(path), experiment=experiment)
    name = experiment or (newest.experiment if newest is not None else None)
    scored = last_runs(Path(path), name, unsaved=unsaved).scored if name is not None else None
    if scored is None or scored.previous is None:
        said = "has been run only once" if scored is not None else "has not been run yet"
        raise WrongUse(f"the prompt {said}, so there is nothing to compare", FilePlace(path), "run it again")
    return scored.previous, scored


def _result(found: Comparison) -> dict[str, Any]:
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
            for change in found.changes[:_MOST_CHANGES]
        ],
        "message": "; ".join(f"{metric.metric}: {metric.words}" for metric in found.metrics),
    }


def _markdown(result: dict[str, Any]) -> str:
    lines = [f"# {result['after']['name']} against {result['before']['name']}", ""]
    lines += [f"- {sentence}" for sentence in result["sentences"]]
    if result["changes"]:
        lines += ["", "| Row | Metric | Before | After | |", "| --- | --- | --- | --- | --- |"]
        lines += [
            f"| {change['id']} | {change['metric']} | {change['before']} | {change['after']} "
            f"| {'better' if change['better'] else 'worse'} |"
            for change in result["changes"]
        ]
    return "\n".join(lines) + "\n"
