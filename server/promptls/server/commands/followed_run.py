"""A run in its own process: its progress, model requests, verdicts and outcome."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from promptls.ide.code_lenses import Running, changed_text, plan_text, progress_text
from promptls.ide.experiments import experiment_names
from promptls.server import command_types
from promptls.server.folder_trust import NOT_SENT, may_send_keys
from promptls.server.progress import WorkDoneProgress, progress

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptls.experiments.run_protocol import Event, Finished, Planned, RunRequest, Started, Stopped
    from promptls.experiments.verdicts import LiveVerdicts, RowVerdict
    from promptls.models.editor_model import AskEditor
    from promptls.server.context import Context
    from promptls.server.state.latest_runs import LatestRuns


RUN_IT: Final = "Run it"


async def followed_run(
    context: Context,
    runs: LatestRuns,
    request: RunRequest,
    token: types.ProgressToken | None,
    title: str,
    follow: str | None = None,
) -> tuple[Finished | None, dict[str, Any]]:
    """Return the final event of the run; if the user cancelled it, None and the result of a cancelled run.

    The user must confirm an expensive run, and one that sends a key to a server named in the settings of the
    project. The run ends when its progress is cancelled, or by `promptls.cancelRun`. The client receives the
    verdicts on rows under the name `follow` as the rows finish. Raises UserError if the run cannot start, or
    is aborted.
    """
    from promptls.experiments.client import run_in_process

    if not await may_send_keys(context, request):
        return None, {**_NOTHING, "message": NOT_SENT}
    named = experiment_of(context, request)
    async with progress(context, token, title) as shown:
        watch = _Watch(context, runs, shown, request.prompt, named)
        news = None if follow is None else VerdictNews(context, follow)

        def see(event: Event) -> None:
            watch.see(event)
            if news is not None:
                news.see(event)

        run = asyncio.ensure_future(run_in_process(request, see, watch.may_spend, editor_of(context)))

        def cancel() -> None:
            watch.is_cancelled = True
            run.cancel()

        shown.when_cancelled(cancel)
        try:
            with runs.in_progress(request.prompt, named, cancel):
                return await run, {}
        except asyncio.CancelledError:
            # Cancelled by the user, or not started because of its cost.
            if not watch.is_cancelled and not watch.is_refused:
                raise
            return None, watch.cancelled()
        finally:
            if news is not None:
                await news.close()


def experiment_of(context: Context, request: RunRequest) -> str:
    """Return the name of the requested experiment.

    It is empty if only the specified run records it.
    """
    if request.experiment is not None or not request.prompt:
        return request.experiment or ""
    return next(iter(experiment_names(context.snapshot, request.prompt)), "")


def title_of(context: Context, request: RunRequest) -> str:
    """Return the title of the progress of a run."""
    named = request.resume or request.retry_errors or request.prompt
    return experiment_of(context, request) or Path(named).name


_NOTHING: dict[str, Any] = {
    "run": "",
    "name": "",
    "rows": 0,
    "failed": 0,
    "scores": {},
    "cancelled": True,
    "resume": "",
}


class _Watch:
    """Shows the events of a run as progress, and records what the report of a cancelled run needs."""

    def __init__(
        self, context: Context, runs: LatestRuns, shown: WorkDoneProgress, prompt: str, experiment: str
    ) -> None:
        self._context = context
        self._runs = runs
        self._shown = shown
        self._prompt = prompt
        self._experiment = experiment
        self.is_refused = False
        self.is_cancelled = False
        self._last: Started | Stopped | None = None
        self._done = 0

    def see(self, event: Event) -> None:
        """Handle the next event."""
        from promptls.experiments.run_protocol import Planned, RowFinished, Started, Stopped

        if isinstance(event, Planned):
            self._shown.report(plan_text(event), 0)
        elif isinstance(event, RowFinished):
            self._done = event.done
            running = Running(event.done, event.total, event.left)
            self._runs.advanced(self._prompt, self._experiment, running)
            share = 100 * event.done // max(event.total, 1)
            self._shown.report(progress_text(event.done, event.total, event.rate, event.left), share)
        elif isinstance(event, Started | Stopped):
            self._last = event
            if isinstance(event, Started):
                self._runs.started(self._prompt, self._experiment, event.path)
                self._done = event.done
                running = Running(event.done, event.total)
                self._runs.advanced(self._prompt, self._experiment, running)
                self._shown.report(f"{event.done} of {event.total} rows", 0)

    async def may_spend(self, planned: Planned) -> bool:
        """Ask the user whether an expensive run may start."""
        run_it = types.MessageActionItem(RUN_IT)
        answer = await self._context.server.window_show_message_request_async(
            types.ShowMessageRequestParams(
                types.MessageType.Warning, _question(planned), [run_it, types.MessageActionItem("Cancel")]
            )
        )
        self.is_refused = answer is None or answer.title != RUN_IT
        return not self.is_refused

    def cancelled(self) -> dict[str, Any]:
        """Return the result of a run that the user has cancelled."""
        last = self._last
        if self.is_refused:
            return {**_NOTHING, "message": "Nothing was run, and nothing was spent."}
        path = last.path if last is not None and self._done else ""
        kept = f"; the finished ones are kept, and `promptls run --resume {path}` goes on" if path else ""
        of = f" of {last.total}" if last is not None else ""
        return {
            **_NOTHING,
            "rows": self._done,
            "resume": last.path if last is not None else "",
            "message": f"The run was cancelled after {self._done}{of} rows{kept}.",
        }


def _question(planned: Planned) -> str:
    """Return the question, preceded by the effect of the edit if that is known."""
    if planned.changed is None:
        return str(planned.question)
    return f"{changed_text(planned)}. {planned.question}"


_NEWS_SECONDS: Final = 0.25
"""The minimum time between two notifications."""


class VerdictNews:
    """Notifies the client of rows as they finish, in batches: `{"follow", "verdicts"}`."""

    def __init__(self, context: Context, follow: str) -> None:
        """`follow` is the client's name for the run."""
        self._context = context
        self._follow = follow
        self._live: LiveVerdicts | None = None
        self._sending: asyncio.Task[None] | None = None

    def see(self, event: Event) -> None:
        """Handle an event of the run."""
        from promptls.experiments.run_protocol import RowFinished, Started
        from promptls.experiments.verdicts import LiveVerdicts

        if isinstance(event, Started):
            self._live = LiveVerdicts(Path(event.path), event.metrics)
        elif isinstance(event, RowFinished) and self._sending is None:
            self._sending = self._context.start(self._send(), "the verdicts on rows")

    async def close(self) -> None:
        """Stop sending."""
        if self._sending is not None:
            self._sending.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._sending

    async def _send(self) -> None:
        await asyncio.sleep(_NEWS_SECONDS)
        assert self._live is not None
        fresh = await asyncio.to_thread(self._live.fresh)
        # Rows that finish from now on are sent in the next batch.
        self._sending = None
        if fresh:
            verdicts = [verdict_json(verdict, stale=False) for verdict in fresh]
            params: command_types.RowVerdictsParams = {"follow": self._follow, "verdicts": verdicts}
            self._context.notify("promptls/rowVerdicts", {**params})


def verdict_json(verdict: RowVerdict, *, stale: bool) -> command_types.RowVerdictJson:
    """Return the verdict on a row; it is `stale` if the prompt changed after the run."""
    return {
        "number": verdict.number,
        "state": verdict.state,
        "message": verdict.message,
        "expected": verdict.expected,
        "actual": verdict.actual,
        "seconds": verdict.seconds,
        "stale": stale,
    }


ASK_MODEL: Final = "promptls/askModel"
"""The request: `{"run", "model", "messages", "parameters"}`.

The model is `<vendor>/<family>`, and `run` is the same for all requests of one run. The answer is `{"text",
"model", "inputTokens", "outputTokens"}`, the counts null where they are not known, or `{"error": {"code",
"message"}}` with one of the codes `notFound`, `noPermissions`, `blocked`, `failed`.
"""


def editor_of(context: Context) -> AskEditor | None:
    """Return a function that sends a request to a model of the client; None if the client offers no models.

    The function never raises. If it is cancelled, so is the request at the client.
    """
    if not context.capabilities.models:
        return None

    run = str(uuid4())

    async def ask(question: Mapping[str, Any]) -> Mapping[str, Any]:
        request_id = str(uuid4())
        params = {"run": run, **question}
        request = context.server.protocol.send_request_async(ASK_MODEL, params, msg_id=request_id)
        try:
            answer = await request
        except JsonRpcException as error:
            return _failed(error.message)
        except asyncio.CancelledError:
            context.notify(types.CANCEL_REQUEST, types.CancelParams(request_id))
            raise
        return answer if isinstance(answer, dict) else _failed("the editor gave no answer")

    return ask


def editor_models(context: Context, params: dict[str, Any]) -> None:
    """Handle `promptls/editorModels`: the models that the client offers now, as `<vendor>/<family>`."""
    models = params.get("models")
    if isinstance(models, list):
        context.workspace.set_editor_models(tuple(dict.fromkeys(map(str, models))))


def _failed(message: str) -> dict[str, Any]:
    return {"error": {"code": "failed", "message": message}}
