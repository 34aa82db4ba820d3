"""`promptls.runExperiment`: one run in a process of its own, with progress, and its scores."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from promptls.features.experiment_runs import experiment_names
from promptls.features.run_words import Running, seconds_text
from promptls.protocol.commands.plan_experiment import changed_words, in_words, plan_experiment
from promptls.protocol.commands.run_request import run_request
from promptls.protocol.progress import Progress, progress

if TYPE_CHECKING:
    from promptls.experiments.events import Event, Finished, Planned, Started, Stopped
    from promptls.protocol.session import Session

RUN_IT = "Run it"


async def run_experiment(
    session: Session, arguments: dict[str, Any], token: types.ProgressToken | None
) -> dict[str, Any]:
    """The run's table, scores and a sentence; raises Failure where it cannot begin, or breaks off.

    With `onlyPlan`, what it would do and cost, as `promptls.planExperiment` says it. A run ends when its
    progress is cancelled, and by `promptls.cancelRun`.
    """
    if arguments.get("onlyPlan") is True:
        return await plan_experiment(session, arguments, token)
    from promptls.experiments.client import run_in_process

    request = run_request(session, arguments)
    named = request.experiment or next(iter(experiment_names(session.snapshot, request.prompt)), "")
    title = named or Path(request.prompt or request.resume or request.retry_errors or "").name
    async with progress(session, token, f"Running {title}") as shown:
        watch = _Watch(session, shown, request.prompt, named)
        run = asyncio.ensure_future(run_in_process(request, watch.see, watch.may_spend))

        def cancel() -> None:
            watch.is_cancelled = True
            run.cancel()

        shown.when_cancelled(cancel)
        try:
            with session.runs.going_on(request.prompt, named, cancel):
                finished = await run
        except asyncio.CancelledError:
            # Cancelled by the user, or not begun because it would have cost too much.
            if not watch.is_cancelled and not watch.is_refused:
                raise
            return watch.cancelled()
    session.runs.look_again(list(session.snapshot.open_files))
    result = _result(finished)
    if not session.flags.panels:
        message = types.ShowMessageParams(types.MessageType.Info, result["message"])
        session.server.window_show_message(message)
    return result


_NOTHING: dict[str, Any] = {
    "run": "",
    "name": "",
    "rows": 0,
    "failed": 0,
    "scores": {},
    "cancelled": True,
    "journal": "",
}


class _Watch:
    """Shows a run's events as progress, and keeps what a cancelled one is reported with."""

    def __init__(self, session: Session, shown: Progress, prompt: str, experiment: str) -> None:
        self._session = session
        self._shown = shown
        self._prompt = prompt
        self._experiment = experiment
        self.is_refused = False
        self.is_cancelled = False
        self._last: Started | Stopped | None = None
        self._done = 0

    def see(self, event: Event) -> None:
        """Take the next event."""
        from promptls.experiments.events import Planned, RowFinished, Started, Stopped

        if isinstance(event, Planned):
            self._shown.report(in_words(event), 0)
        elif isinstance(event, RowFinished):
            self._done = event.done
            running = Running(event.done, event.total, event.left)
            self._session.runs.advanced(self._prompt, self._experiment, running)
            left = f", {seconds_text(event.left)} left" if event.done < event.total else ""
            share = 100 * event.done // max(event.total, 1)
            rate = f", {event.rate:.1f} a second" if event.done < event.total else ""
            self._shown.report(f"{event.done} of {event.total} rows{rate}{left}", share)
        elif isinstance(event, Started | Stopped):
            self._last = event
            if isinstance(event, Started):
                self._done = event.done
                running = Running(event.done, event.total)
                self._session.runs.advanced(self._prompt, self._experiment, running)
                self._shown.report(f"{event.done} of {event.total} rows", 0)

    async def may_spend(self, planned: Planned) -> bool:
        """Whether the user lets a run begin that costs much."""
        run_it = types.MessageActionItem(RUN_IT)
        answer = await self._session.server.window_show_message_request_async(
            types.ShowMessageRequestParams(
                types.MessageType.Warning, _question(planned), [run_it, types.MessageActionItem("Cancel")]
            )
        )
        self.is_refused = answer is None or answer.title != RUN_IT
        return not self.is_refused

    def cancelled(self) -> dict[str, Any]:
        """The result of a run that the user has cancelled."""
        last = self._last
        if self.is_refused:
            return {**_NOTHING, "message": "Nothing was run, and nothing was spent."}
        kept = f"; the finished ones are in {last.journal}" if last is not None and self._done else ""
        of = f" of {last.total}" if last is not None else ""
        return {
            **_NOTHING,
            "rows": self._done,
            "journal": last.journal if last is not None else "",
            "message": f"The run was cancelled after {self._done}{of} rows{kept}.",
        }


def _question(planned: Planned) -> str:
    """The question, behind what the edit has changed where that is known."""
    if planned.changed is None:
        return str(planned.question)
    return f"{changed_words(planned)}. {planned.question}"


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
