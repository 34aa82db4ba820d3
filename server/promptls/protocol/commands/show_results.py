"""`promptls.showResults`: the view of a run, beside others; a report in a file where there is no panel."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from promptls.protocol.commands.arguments import prompt_path
from promptls.protocol.shown_text import show_text
from promptls.text.arguments import optional
from promptls.text.failure import FilePlace, WrongUse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from promptls.experiments.history import RunSummary
    from promptls.protocol.session import Session


async def show_results(
    session: Session, arguments: dict[str, Any], _token: types.ProgressToken | None
) -> dict[str, Any]:
    """The view of the run whose table `run` names, or of the last one of the prompt.

    It stands beside the run before, or those that `against` names, of which the first is what the others are
    compared with. Where the client has no panel, `document` is the report of the same runs.
    """
    named = optional(arguments, "run", str)
    path = prompt_path(session, arguments) if named is None else named
    experiment = optional(arguments, "experiment", str)
    against = optional(arguments, "against", list)
    unsaved = session.snapshot.unsaved()
    in_thread = asyncio.get_running_loop().run_in_executor
    # Statistics and long tables take their time; nothing of the session is touched meanwhile.
    runs = await in_thread(None, _runs, path, experiment, named, against, unsaved)
    if session.flags.panels:
        return await in_thread(None, _view, runs)
    html = await in_thread(None, _report, runs)
    return {
        "run": str(runs[-1].results),
        "name": runs[-1].name,
        "document": show_text(session, path, "results", html, "html"),
    }


def _view(runs: Sequence[RunSummary]) -> dict[str, Any]:
    from promptls.results_view.view import results_view

    return results_view(runs)


def _report(runs: Sequence[RunSummary]) -> str:
    from promptls.results_view.report import report_html

    return report_html(runs)


def _runs(
    path: str,
    experiment: str | None,
    named: str | None,
    against: list[Any] | None,
    unsaved: Mapping[str, str],
) -> list[RunSummary]:
    """The runs to compare with, and behind them the one that is shown."""
    from promptls.experiments.find_run import find_run

    run = _of_prompt(path, experiment, unsaved) if named is None else _of_table(Path(named), unsaved)
    if against is None:
        return [run] if run.previous is None else [run.previous, run]
    others = [find_run(str(each)) for each in dict.fromkeys(against)]
    return [*(other for other in others if other.results != run.results), run]


def _of_prompt(path: str, experiment: str | None, unsaved: Mapping[str, str]) -> RunSummary:
    from promptls.experiments.history import last_run

    run = last_run(Path(path), experiment=experiment, unsaved=unsaved)
    if run is None:
        what = f"the experiment `{experiment}`" if experiment else "the prompt"
        raise WrongUse(f"{what} has not been run yet", FilePlace(path), "run it: `promptls.runExperiment`")
    return run


def _of_table(table: Path, unsaved: Mapping[str, str]) -> RunSummary:
    """The run of a table, with the run of the same experiment before it."""
    from dataclasses import replace

    from promptls.experiments.history import read_run, runs_of

    run = read_run(table.with_suffix(".json"))
    older = list(runs_of(run.prompt, experiment=run.experiment, unsaved=unsaved))
    names = [each.name for each in older]
    if run.name not in names:
        return run
    index = names.index(run.name)
    return replace(older[index], previous=older[index + 1] if index + 1 < len(older) else None)
