"""Verdicts on rows while a run goes on, for a client that follows it: `promptls/rowVerdicts`."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from promptls.experiments.events import Event
    from promptls.experiments.live_verdicts import LiveVerdicts
    from promptls.protocol.session import Session

_SECONDS: Final = 0.25
"""How often news are sent at most."""


class VerdictNews:
    """Tells the client of rows as they are finished: `{"follow", "verdicts"}`, several at a time."""

    def __init__(self, session: Session, follow: str) -> None:
        """`follow` is the client's own name for the run."""
        self._session = session
        self._follow = follow
        self._live: LiveVerdicts | None = None
        self._telling: asyncio.Task[None] | None = None

    def see(self, event: Event) -> None:
        """Take an event of the run."""
        from promptls.experiments.events import RowFinished, Started
        from promptls.experiments.live_verdicts import LiveVerdicts

        if isinstance(event, Started):
            self._live = LiveVerdicts(Path(event.journal), event.metrics)
        elif isinstance(event, RowFinished) and self._telling is None:
            self._telling = self._session.start(self._tell(), "telling of rows")

    async def close(self) -> None:
        """Nothing is told any more."""
        if self._telling is not None:
            self._telling.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._telling

    async def _tell(self) -> None:
        await asyncio.sleep(_SECONDS)
        assert self._live is not None
        fresh = await asyncio.get_running_loop().run_in_executor(None, self._live.fresh)
        # Rows that are finished from now on are told of next time.
        self._telling = None
        if fresh:
            verdicts = [{**verdict._asdict(), "stale": False} for verdict in fresh]
            params = {"follow": self._follow, "verdicts": verdicts}
            self._session.server.protocol.notify_json("promptls/rowVerdicts", params)
