"""What is looked at once the typing pauses: the files around a changed one, renderings, results of runs."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from promptls.workspace.snapshot import Snapshot

if TYPE_CHECKING:
    from promptls.protocol.session import Session

AROUND_SECONDS: Final = 0.03
"""The pause after which the diagnostics of the files around are looked at."""
PAUSE_SECONDS: Final = 0.2
"""The pause after which everything else is."""


class Settling:
    """Collects changed files, and looks at them and at those around them after a pause."""

    def __init__(self, session: Session) -> None:
        self._session: Final = session
        self._changed: dict[str, None] = {}
        self._everything = False
        self._timer: asyncio.TimerHandle | None = None

    def changed(self, *paths: str) -> None:
        """Look at the files after a pause, which begins anew with each change."""
        self._changed.update(dict.fromkeys(paths))
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(AROUND_SECONDS, self._look_around)

    def everything_changed(self) -> None:
        """Look at every open file after a pause: settings, or files that are not open, have changed."""
        self._everything = True
        self.changed()

    def close(self) -> None:
        """Look at nothing any more."""
        if self._timer is not None:
            self._timer.cancel()

    def _look_around(self) -> None:
        self._session.diagnostics.look_again(self._around())
        rest = PAUSE_SECONDS - AROUND_SECONDS
        self._timer = asyncio.get_running_loop().call_later(rest, self._settled)

    def _settled(self) -> None:
        session = self._session
        snapshot = session.snapshot
        around = self._around()
        session.semantic_tokens.look_again(around)
        session.folds.look_again(around)
        affected = [
            path
            for path in snapshot.open_files
            if self._everything
            or path in self._changed
            or not self._changed.keys().isdisjoint(snapshot.included(path))
        ]
        self._timer = None
        self._changed = {}
        self._everything = False
        session.runs.look_again(affected)
        session.renderings.look_again(affected)
        session.program_findings.look_again()

    def _around(self) -> list[str]:
        """The open files that a change may concern beside the changed ones themselves."""
        snapshot = self._session.snapshot
        return [
            path
            for path in snapshot.open_files
            if self._everything
            or any(path != other and touch(snapshot, path, other) for other in self._changed)
        ]


def touch(snapshot: Snapshot, first: str, second: str) -> bool:
    """Whether one of two files reaches the other by includes."""
    return second in snapshot.included(first) or first in snapshot.included(second)
