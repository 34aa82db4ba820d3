"""Long work: its progress at the client, and time slices between which other messages are handled."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final, TypeVar
from uuid import uuid4

from lsprotocol import types

from promptls.server.context import Context
from promptls.text.escape import for_message
from promptls.text.steps import Steps

SLICE_SECONDS: Final = 0.004
"""The longest time that work may block other messages."""


class Slices:
    """Yields to other tasks when a time slice is used up; cancelled work ends there.

    A thread would be slower: it and the requests would wait for one another at every step.
    """

    def __init__(self) -> None:
        self._begun = time.perf_counter()

    async def pause(self) -> None:
        """Yield to waiting tasks if the time slice is used up."""
        if time.perf_counter() - self._begun > SLICE_SECONDS:
            await asyncio.sleep(0)
            self._begun = time.perf_counter()


_CREATED_SECONDS: Final = 5.0
"""How long a client may take to create a token; after that, no progress is shown."""

_REPORTED: Final = 500
"""The number of steps between two reports of progress."""
Result = TypeVar("Result")

log = logging.getLogger(__name__)


class WorkDoneProgress:
    """The progress of one piece of work; nothing is sent to a client that does not show it."""

    def __init__(self, context: Context, token: types.ProgressToken | None) -> None:
        self._progress: Final = context.server.work_done_progress
        self._token: Final = token
        self._work: asyncio.Future[Any] | None = None
        self.is_cancelled = False

    def report(self, message: str, percentage: int | None = None) -> None:
        """Show a message, and the percentage if it is known."""
        if self._token is not None:
            report = types.WorkDoneProgressReport(message=for_message(message), percentage=percentage)
            self._progress.report(self._token, report)

    def when_cancelled(self, cancel: Callable[[], object]) -> None:
        """Call `cancel` when the user cancels the work."""
        future = self._progress.tokens.get(self._token) if self._token is not None else None
        if future is None:
            return

        def cancelled(done: object) -> None:
            if getattr(done, "cancelled", bool)():
                cancel()

        future.add_done_callback(cancelled)

    async def run(self, work: Coroutine[Any, Any, Result]) -> Result | None:
        """Return the result of `work`; None if the user cancels it, or it ends with `is_cancelled` set."""
        # The task begins here, so that it does not go on if the request is cancelled before.
        self._work = running = asyncio.ensure_future(work)
        self.when_cancelled(self.cancel)
        try:
            return await running
        except asyncio.CancelledError:
            if not self.is_cancelled:
                raise
            return None

    def cancel(self) -> None:
        """Cancel the work that `run` awaits."""
        self.is_cancelled = True
        if self._work is not None:
            self._work.cancel()


@asynccontextmanager
async def progress(
    context: Context,
    token: types.ProgressToken | None,
    title: str,
    *,
    cancellable: bool = True,
    percentage: int | None = 0,
) -> AsyncIterator[WorkDoneProgress]:
    """Show progress under the token of the client, or under a new one, until the end of the `with` block.

    `percentage` is None for work that cannot report any.
    """
    token = token if token is not None else await _created(context)
    reporter = context.server.work_done_progress
    if token is not None:
        begin = types.WorkDoneProgressBegin(
            for_message(title), cancellable=cancellable, percentage=percentage
        )
        reporter.begin(token, begin)
    try:
        yield WorkDoneProgress(context, token)
    finally:
        if token is not None:
            reporter.end(token, types.WorkDoneProgressEnd())
            reporter.tokens.pop(token, None)


async def in_slices(
    context: Context, steps: Steps[Result], token: types.ProgressToken | None = None, title: str = ""
) -> Result:
    """Return the result of long work; between its steps, other messages are handled and it can be cancelled.

    Progress is shown under the client's `token`, if it sent one; the user can cancel the work there.
    """
    slices = Slices()
    async with AsyncExitStack() as stack:
        shown = None
        if token is not None:
            shown = await stack.enter_async_context(progress(context, token, title))
            task = asyncio.current_task()
            if task is not None:
                shown.when_cancelled(task.cancel)
        done = 0
        while True:
            try:
                next(steps)
            except StopIteration as ended:
                result: Result = ended.value
                return result
            done += 1
            if shown is not None and done % _REPORTED == 0:
                shown.report(f"{done:,} steps")
            await slices.pause()


def send_part(context: Context, token: types.ProgressToken, found: Any) -> None:
    """Send a partial result, unless it is empty."""
    if found:
        context.notify(types.PROGRESS, types.ProgressParams(token, found))


async def _created(context: Context) -> str | None:
    """Return a new token that the client has agreed to, or None."""
    if not context.capabilities.work_done_progress:
        return None
    token = str(uuid4())
    try:
        created = context.server.work_done_progress.create_async(token)
        await asyncio.wait_for(created, _CREATED_SECONDS)
    except Exception:
        log.exception("the client shows no progress")
        return None
    return token
