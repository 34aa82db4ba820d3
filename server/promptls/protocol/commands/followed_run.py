"""A run in a process of its own, followed: its progress, its question, its end."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types

from promptls.features.experiment_runs import experiment_names
from promptls.features.run_words import Running, changed_text, plan_text, progress_text
from promptls.protocol.client.editor_models import editor_of
from promptls.protocol.client.progress import Progress, progress
from promptls.protocol.client.verdict_news import VerdictNews

if TYPE_CHECKING:
    from promptls.experiments.events import Event, Finished, Planned, Started, Stopped
    from promptls.experiments.request import RunRequest
    from promptls.protocol.session import Session

RUN_IT: Final = "Run it"


async def followed_run(
    session: Session,
    request: RunRequest,
    token: types.ProgressToken | None,
    title: str,
    follow: str | None = None,
) -> tuple[Finished | None, dict[str, Any]]:
    """The end of the run; where the user has cancelled it, None and the result of such a run.

    A run that spends much begins when the user says so. It ends when its progress is cancelled, and by
    `promptls.cancelRun`. Under the name `follow`, the client is told of rows as they are finished. Raises
    Failure where it cannot begin, or breaks off.
    """
    from promptls.experiments.client import run_in_process

    named = experiment_of(session, request)
    async with progress(session, token, title) as shown:
        watch = _Watch(session, shown, request.prompt, named)
        news = None if follow is None else VerdictNews(session, follow)

        def see(event: Event) -> None:
            watch.see(event)
            if news is not None:
                news.see(event)

        run = asyncio.ensure_future(run_in_process(request, see, watch.may_spend, editor_of(session)))

        def cancel() -> None:
            watch.is_cancelled = True
            run.cancel()

        shown.when_cancelled(cancel)
        try:
            with session.runs.going_on(request.prompt, named, cancel):
                return await run, {}
        except asyncio.CancelledError:
            # Cancelled by the user, or not begun because it would have cost too much.
            if not watch.is_cancelled and not watch.is_refused:
                raise
            return None, watch.cancelled()
        finally:
            if news is not None:
                await news.close()


def experiment_of(session: Session, request: RunRequest) -> str:
    """The name of the experiment that is asked for; empty where only the run that is named knows it."""
    if request.experiment is not None or not request.prompt:
        return request.experiment or ""
    return next(iter(experiment_names(session.snapshot, request.prompt)), "")


def title_of(session: Session, request: RunRequest) -> str:
    """What the run is called while it goes on."""
    named = request.resume or request.retry_errors or request.prompt
    return experiment_of(session, request) or Path(named).name


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
            self._shown.report(plan_text(event), 0)
        elif isinstance(event, RowFinished):
            self._done = event.done
            running = Running(event.done, event.total, event.left)
            self._session.runs.advanced(self._prompt, self._experiment, running)
            share = 100 * event.done // max(event.total, 1)
            self._shown.report(progress_text(event.done, event.total, event.rate, event.left), share)
        elif isinstance(event, Started | Stopped):
            self._last = event
            if isinstance(event, Started):
                self._session.runs.began(self._prompt, self._experiment, event.journal)
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
        journal = last.journal if last is not None and self._done else ""
        kept = f"; the finished ones are in {journal}" if journal else ""
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
    return f"{changed_text(planned)}. {planned.question}"
