"""The rendering processes of a session: one for the files of each set of limits."""

from __future__ import annotations

from typing import Final

from promptls.rendering.limits import Limits
from promptls.rendering.make import limits_for
from promptls.rendering.worker import RenderWorker
from promptls.workspace.snapshot import Snapshot


class RenderWorkers:
    """A process for each set of limits; a file is worked on in one of them only."""

    def __init__(self) -> None:
        self._by_limits: Final[dict[Limits, RenderWorker]] = {}
        self._by_file: Final[dict[str, RenderWorker]] = {}

    def of(self, snapshot: Snapshot, path: str) -> RenderWorker:
        """The process that renders and counts for the file, within the limits of its settings."""
        limits = limits_for(snapshot, path)
        worker = self._by_limits.get(limits)
        if worker is None:
            worker = self._by_limits[limits] = RenderWorker(limits)
        former = self._by_file.get(path)
        if former is not None and former is not worker:
            former.give_up(path)  # what the former limits let run may run for very long
        self._by_file[path] = worker
        return worker

    def give_up(self, path: str) -> None:
        """Leave off whatever is under way for the file."""
        if (worker := self._by_file.pop(path, None)) is not None:
            worker.give_up(path)

    async def close(self) -> None:
        """End the processes."""
        for worker in self._by_limits.values():
            await worker.close()
