"""`promptls.runExperiment`: one run in a process of its own, with progress, and its scores."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from promptls.protocol.commands.arguments import prompt_path
from promptls.protocol.progress import Progress, progress
from promptls.text.arguments import optional
from promptls.text.failure import FilePlace, WrongUse

if TYPE_CHECKING:
    from promptls.experiments.events import Event, Finished, Started, Stopped
    from promptls.protocol.session import Session


async def run_experiment(
    session: Session, arguments: dict[str, Any], token: types.ProgressToken | None
) -> dict[str, Any]:
    """The run's table, scores and a sentence; raises Failure where it cannot begin, or breaks off."""
    from promptls.experiments.client import run_in_process
    from promptls.experiments.request import RunRequest

    path = prompt_path(session, arguments)
    if session.trusted is False:
        raise WrongUse(
            "experiments are not run in a workspace that is not trusted",
            FilePlace(path),
            "trust the workspace first: a run executes its metrics and functions",
        )
    models = optional(arguments, "models", list) or []
    request = RunRequest(
        prompt=path,
        experiment=optional(arguments, "experiment", str),
        models=[str(model) for model in models],
        unsaved=session.snapshot.unsaved(),
    )
    async with progress(session, token, f"Running {request.experiment or Path(path).name}") as shown:
        watch = _Watch(shown)
        run = asyncio.ensure_future(run_in_process(request, watch.see))
        shown.when_cancelled(run.cancel)
        try:
            finished = await run
        except asyncio.CancelledError:
            if not shown.is_cancelled:
                raise
            return watch.cancelled()
    session.runs.look_again(list(session.snapshot.open_files))
    result = _result(finished)
    if not session.flags.panels:
        message = types.ShowMessageParams(types.MessageType.Info, result["message"])
        session.server.window_show_message(message)
    return result


class _Watch:
    """Shows a run's events as progress, and keeps what a cancelled one is reported with."""

    def __init__(self, shown: Progress) -> None:
        self._shown = shown
        self._last: Started | Stopped | None = None
        self._done = 0

    def see(self, event: Event) -> None:
        """Take the next event."""
        from promptls.experiments.events import RowFinished, Started, Stopped

        if isinstance(event, RowFinished):
            self._done = event.done
            left = f", {_seconds(event.left)} left" if event.done < event.total else ""
            share = 100 * event.done // max(event.total, 1)
            self._shown.report(f"{event.done} of {event.total} rows{left}", share)
        elif isinstance(event, Started | Stopped):
            self._last = event
            if isinstance(event, Started):
                self._shown.report(f"0 of {event.total} rows", 0)

    def cancelled(self) -> dict[str, Any]:
        """The result of a run that the user has cancelled."""
        last = self._last
        kept = f"; the finished ones are in {last.journal}" if last is not None and self._done else ""
        of = f" of {last.total}" if last is not None else ""
        return {
            "run": "",
            "name": "",
            "rows": self._done,
            "failed": 0,
            "scores": {},
            "cancelled": True,
            "message": f"The run was cancelled after {self._done}{of} rows{kept}.",
        }


def _seconds(seconds: float) -> str:
    """A time in words, whole seconds or minutes."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"  # noqa: PLR2004  (two digits)


def _result(finished: Finished) -> dict[str, Any]:
    from promptls.experiments.history import read_run

    run = read_run(Path(finished.manifest_path))
    scores = ", ".join(f"{metric.name} {metric.text}" for metric in run.metrics)
    failed = f", {run.failed} of them failed" if run.failed else ""
    return {
        "run": str(run.results),
        "name": run.name,
        "rows": run.rows,
        "failed": run.failed,
        "scores": {metric.name: metric.value for metric in run.metrics if metric.value is not None},
        "cancelled": False,
        "message": f"{run.name}: {run.rows} rows{failed}{f': {scores}' if scores else ''}",
    }
