"""Refreshes after a pause in typing: related files first, then everything that takes longer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from promptls.facts import Reads, recording
from promptls.server.context import Context, Event
from promptls.workspace.snapshot import read_included

SHORT_PAUSE_SECONDS: Final = 0.03
"""The pause after which the diagnostics of related files are refreshed."""
PAUSE_SECONDS: Final = 0.2
"""The pause after which everything else is refreshed."""


class Scheduler:
    """Collects changed files, and notifies its subscribers of a pause."""

    def __init__(self, context: Context, is_current: Callable[[str], bool]) -> None:
        """`is_current` returns whether the diagnostics of an open file are up to date."""
        self._context: Final = context
        self._is_current: Final = is_current
        self.on_short_pause: Event[[list[str]]] = Event()
        """The open files whose diagnostics a change affects, apart from the changed ones."""
        self.on_pause: Event[[list[str], list[str]]] = Event()
        """The open files that were not changed themselves, and those whose rendering a change affects."""
        self._changed: dict[str, None] = {}
        self._rendered_from: dict[str, Reads] = {}
        self._everything = False
        self._timer: asyncio.TimerHandle | None = None

    def on_did_change(self, *paths: str) -> None:
        """Schedule a refresh of the files after a pause; each change restarts the pause."""
        self._changed.update(dict.fromkeys(paths))
        self.close()
        self._timer = asyncio.get_running_loop().call_later(SHORT_PAUSE_SECONDS, self._after_short_pause)

    def invalidate(self) -> None:
        """Refresh every open file after a pause: settings, or files that are not open, have changed."""
        self._everything = True
        self.on_did_change()

    def close(self) -> None:
        """Cancel the refresh."""
        if self._timer is not None:
            self._timer.cancel()

    def _after_short_pause(self) -> None:
        affected = [path for path in self._others() if not self._is_current(path)]
        self.on_short_pause.emit(affected)
        rest = PAUSE_SECONDS - SHORT_PAUSE_SECONDS
        self._timer = asyncio.get_running_loop().call_later(rest, self._after_pause)

    def _after_pause(self) -> None:
        snapshot = self._context.snapshot
        others = self._others()
        rendered_from, self._rendered_from = self._rendered_from, {}
        rendered = []
        for path in snapshot.open_files:
            reads = rendered_from.get(path)
            if self._everything or reads is None or not reads.hold(snapshot):
                rendered.append(path)
                with recording() as reads:
                    read_included(snapshot, path)
            self._rendered_from[path] = reads
        self._timer = None
        self._changed = {}
        self._everything = False
        self.on_pause.emit(others, rendered)

    def _others(self) -> list[str]:
        """Return the open files that were not changed themselves; all if more than their text changed."""
        return [
            path
            for path in self._context.snapshot.open_files
            if self._everything or path not in self._changed
        ]
