"""`promptls.runExperiment`: one run in a process of its own, with progress, and its scores."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from promptls.protocol.commands.followed_run import followed_run, title_of
from promptls.protocol.commands.plan_experiment import plan_experiment
from promptls.protocol.commands.run_request import run_request
from promptls.text.arguments import optional

if TYPE_CHECKING:
    from promptls.experiments.events import Finished
    from promptls.protocol.session import Session


async def run_experiment(
    session: Session, arguments: dict[str, Any], token: types.ProgressToken | None
) -> dict[str, Any]:
    """The run's table, scores and a sentence; raises Failure where it cannot begin, or breaks off.

    With `onlyPlan`, what it would do and cost, as `promptls.planExperiment` says it. A run ends when its
    progress is cancelled, and by `promptls.cancelRun`. With `follow`, verdicts on rows are told under that
    name while it goes on.
    """
    if arguments.get("onlyPlan") is True:
        return await plan_experiment(session, arguments, token)
    request = run_request(session, arguments)
    title = f"Running {title_of(session, request)}"
    follow = optional(arguments, "follow", str)
    finished, cancelled = await followed_run(session, request, token, title, follow)
    if finished is None:
        return cancelled
    session.runs.look_again(list(session.snapshot.open_files))
    result = _result(finished)
    if not session.flags.panels:
        message = types.ShowMessageParams(types.MessageType.Info, result["message"])
        session.server.window_show_message(message)
    return result


def _result(finished: Finished) -> dict[str, Any]:
    from promptls.experiments.history import read_run

    run = read_run(Path(finished.manifest_path))
    scores = ", ".join(f"{metric.name} {metric.text}" for metric in run.metrics)
    rows = f"{run.rows} {'row' if run.rows == 1 else 'rows'}"
    failed = f", {run.failed} of them failed" if run.failed else ""
    return {
        "run": str(run.results),
        "name": run.name,
        "rows": run.rows,
        "failed": run.failed,
        "scores": {metric.name: metric.value for metric in run.metrics if metric.value is not None},
        "cancelled": False,
        "message": f"{run.name}: {rows}{failed}{f': {scores}' if scores else ''}",
    }
