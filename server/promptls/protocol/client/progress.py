"""Work-done progress: shown where the client can show it, and cancelled where it lets the user."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar
from uuid import uuid4

from lsprotocol import types

from promptls.protocol.slices import Slices
from promptls.text.steps import Steps

if TYPE_CHECKING:
    from promptls.protocol.session import Session

_CREATED_SECONDS: Final = 5.0
"""How long a client may take to agree to a token; without it the work goes on unseen."""

_REPORTED: Final = 500
"""After how many steps it is told how far the work is."""
Result = TypeVar("Result")

log = logging.getLogger(__name__)


class Progress:
    """One piece of work that the client shows; nothing is sent where it shows none."""

    def __init__(self, session: Session, token: types.ProgressToken | None) -> None:
        self._progress: Final = session.server.work_done_progress
        self._token: Final = token
        self.is_cancelled = False

    def report(self, message: str, percentage: int | None = None) -> None:
        """Show how far the work is: `percentage` of 100 where that is known, and in words."""
        if self._token is not None:
            report = types.WorkDoneProgressReport(message=message, percentage=percentage)
            self._progress.report(self._token, report)

    def when_cancelled(self, cancel: Callable[[], object]) -> None:
        """Call `cancel` when the user cancels the work."""
        future = self._progress.tokens.get(self._token) if self._token is not None else None
        if future is None:
            return

        def cancelled(done: object) -> None:
            if getattr(done, "cancelled", bool)():
                self.is_cancelled = True
                cancel()

        future.add_done_callback(cancelled)


@asynccontextmanager
async def progress(
    session: Session, token: types.ProgressToken | None, title: str, *, cancellable: bool = True
) -> AsyncIterator[Progress]:
    """Progress under the client's token, or under one made for it; its end is told in every case.

    What can be cancelled is taken to know how far it is.
    """
    token = token if token is not None else await _created(session)
    reporter = session.server.work_done_progress
    if token is not None:
        percentage = 0 if cancellable else None
        reporter.begin(
            token, types.WorkDoneProgressBegin(title, cancellable=cancellable, percentage=percentage)
        )
    try:
        yield Progress(session, token)
    finally:
        if token is not None:
            reporter.end(token, types.WorkDoneProgressEnd())
            reporter.tokens.pop(token, None)


async def in_slices(
    session: Session, steps: Steps[Result], token: types.ProgressToken | None = None, title: str = ""
) -> Result:
    """The result of long work, between whose steps other messages are handled and a cancelled request ends.

    Progress is shown under the client's `token`, where it gave one; the user may cancel the work there.
    """
    slices = Slices()
    async with AsyncExitStack() as stack:
        shown = None
        if token is not None:
            shown = await stack.enter_async_context(progress(session, token, title))
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


def send_part(session: Session, token: types.ProgressToken, found: Any) -> None:
    """Send what has been found so far to a client that takes partial results; nothing where that is none."""
    if found:
        session.server.protocol.notify_json(types.PROGRESS, {"token": token, "value": found})


async def _created(session: Session) -> str | None:
    """A new token that the client has agreed to, or None."""
    if not session.flags.work_done_progress:
        return None
    token = str(uuid4())
    try:
        created = session.server.work_done_progress.create_async(token)
        await asyncio.wait_for(created, _CREATED_SECONDS)
    except Exception:
        log.exception("the client shows no progress")
        return None
    return token
