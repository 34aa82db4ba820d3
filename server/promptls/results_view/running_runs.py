"""The runs of a results folder that are in progress."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from promptls.experiments.manifest import results_folder
from promptls.experiments.unfinished import RunState, planned_results, unfinished_runs
from promptls.ide.code_lenses import progress_text
from promptls.results_view import results_wire
from promptls.text.errors import UsageError, optional

_LOOKING: Final = threading.Lock()


@dataclass(frozen=True, slots=True)
class WatchedRun:
    """A run in progress: `done` of `total` results are on disk.

    `rate` is the number of results per second since the run is followed, or None before the first.
    """

    path: Path
    experiment: str
    done: int
    total: int
    rate: float | None

    @property
    def left(self) -> float | None:
        """The remaining seconds at this rate; None if that is unknown."""
        return None if not self.rate else max(0, self.total - self.done) / self.rate

    def as_json(self, *, can_cancel: bool) -> results_wire.RunningRun:
        """Return the run as JSON for the page; `can_cancel` is true if this program has started it."""
        # A change of one second in the remaining time is not worth a message.
        left = None if self.left is None else round(self.left)
        return {
            "id": str(self.path),
            "experiment": self.experiment,
            "message": progress_text(self.done, self.total, self.rate, left),
            "share": self.done / self.total if self.total else 0.0,
            "canCancel": can_cancel,
        }


class UnfinishedRuns:
    """Watches the unfinished runs of a folder, and measures their pace."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder: Final = folder
        self._clock: Final = clock
        self._first: dict[Path, tuple[float, int]] = {}

    def look(self) -> list[WatchedRun]:
        """Return the runs in progress, the oldest first."""
        running = [state for state in unfinished_runs(self._folder) if state.is_running]
        first = {state.path: self._first.get(state.path) or (self._clock(), state.done) for state in running}
        self._first = first
        return [found for state in running if (found := self._of(state)) is not None]

    def _of(self, state: RunState) -> WatchedRun | None:
        total = planned_results(state.header)
        if total is None:
            return None
        done, now = min(total, state.done), self._clock()
        began, before = self._first[state.path]
        rate = (done - before) / (now - began) if done > before and now > began else None
        return WatchedRun(state.path, str(state.header.get("experiment")), done, total, rate)


_FOLLOWED: Final[dict[Path, UnfinishedRuns]] = {}
"""The folders requested so far, for measuring the pace of their runs."""


def running_answer(arguments: Mapping[str, Any]) -> results_wire.RunningAnswer:
    """Return the unfinished `runs` in the `folder` of the table `run`, or of the prompt at `path`.

    Those whose paths are `own` are left out.
    """
    run, prompt = optional(arguments, "run", str), optional(arguments, "path", str)
    if run is None and prompt is None:
        raise UsageError("the command needs `path`, of a prompt file, or `run`, of a run's table")
    folder = Path(run).parent if run is not None else results_folder(Path(prompt or ""))
    own = optional(arguments, "own", list) or []
    with _LOOKING:
        found = _FOLLOWED.setdefault(folder, UnfinishedRuns(folder)).look()
    runs = [each.as_json(can_cancel=False) for each in found if str(each.path) not in own]
    return {"folder": str(folder), "runs": runs}
