"""`promptls.showResults`: the rows and scores of a run, and how it compares with the one before."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from promptls.protocol.commands.arguments import prompt_path
from promptls.protocol.shown_text import show_text
from promptls.text.arguments import optional
from promptls.text.failure import Failure, FilePlace, WrongUse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptls.experiments.history import RunSummary
    from promptls.protocol.session import Session


async def show_results(
    session: Session, arguments: dict[str, Any], _token: types.ProgressToken | None
) -> dict[str, Any]:
    """The run as JSON: of the table that `run` names, or the last one of the prompt."""
    named = optional(arguments, "run", str)
    path = prompt_path(session, arguments) if named is None else named
    experiment = optional(arguments, "experiment", str)
    unsaved = session.snapshot.unsaved()
    # Statistics and long tables take their time; nothing of the session is touched meanwhile.
    result = await asyncio.get_running_loop().run_in_executor(None, _found, path, experiment, named, unsaved)
    if not session.flags.panels:
        result["document"] = show_text(session, path, "results", _markdown(result))
    return result


def _found(
    path: str, experiment: str | None, named: str | None, unsaved: Mapping[str, str]
) -> dict[str, Any]:
    from promptls.experiments.history import row_results

    run = _of_prompt(path, experiment, unsaved) if named is None else _of_table(Path(named), unsaved)
    rows = list(row_results(run))
    return {
        **_summary(run),
        "columns": list(rows[0]) if rows else [],
        "rows": rows,
        "previous": _summary(run.previous) if run.previous else None,
        "comparison": _comparison(run),
        "stale": run.stale,
    }


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


def _summary(run: RunSummary) -> dict[str, Any]:
    return {
        "run": str(run.results),
        "name": run.name,
        "metrics": [
            {"name": metric.name, "kind": metric.kind, "value": metric.value, "text": metric.text}
            for metric in run.metrics
        ],
    }


def _comparison(run: RunSummary) -> dict[str, Any] | None:
    """What can be said of the run against the one before, in sentences."""
    if run.previous is None:
        return None
    from promptls.experiments.comparison import compare_runs

    try:
        compared = compare_runs(run.previous, run)
    except Failure as failure:
        return {"sentences": [failure.message]}
    return {"sentences": [*(metric.words for metric in compared.metrics), *compared.notes]}


def _markdown(result: dict[str, Any]) -> str:
    """The results as a page: scores, comparison, and the rows as a table."""
    lines = [f"# {result['name']}", ""]
    lines += [f"- {metric['name']}: {metric['text']}" for metric in result["metrics"]]
    if result["stale"]:
        lines += ["", "The prompt has changed since: these scores are stale."]
    if result["comparison"]:
        lines += ["", *(f"- {sentence}" for sentence in result["comparison"]["sentences"])]
    if result["columns"]:
        lines += ["", _line(result["columns"]), _line(["---"] * len(result["columns"]))]
        lines += [_line([row.get(column) or "" for column in result["columns"]]) for row in result["rows"]]
    return "\n".join(lines) + "\n"


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"
