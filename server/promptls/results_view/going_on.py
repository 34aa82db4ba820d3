"""The runs of a results' folder that go on now, followed by their journals as these grow."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from promptls.experiments.growing_file import GrowingFile
from promptls.experiments.journal import SUFFIX, is_result, is_running, read_header
from promptls.experiments.results_folder import results_folder
from promptls.features.run_words import progress_text
from promptls.text.arguments import optional
from promptls.text.failure import WrongUse

_LOOKING: Final = threading.Lock()


@dataclass(frozen=True, slots=True)
class RunGoingOn:
    """A run that goes on: `done` of `total` results are on disk.

    `rate` is results a second since the run is followed, None before the first of them.
    """

    journal: Path
    experiment: str
    done: int
    total: int
    rate: float | None

    @property
    def left(self) -> float | None:
        """Seconds that are left at this rate; None where it is not known."""
        return None if not self.rate else max(0, self.total - self.done) / self.rate

    def as_json(self, *, can_cancel: bool) -> dict[str, Any]:
        """The run as the page shows it; `can_cancel` where it was begun by whoever shows it."""
        # The second by which time is left is told is not worth a message.
        left = None if self.left is None else round(self.left)
        return {
            "id": str(self.journal),
            "experiment": self.experiment,
            "words": progress_text(self.done, self.total, self.rate, left),
            "share": self.done / self.total if self.total else 0.0,
            "canCancel": can_cancel,
        }


class RunsGoingOn:
    """Follows the journals of a folder; each is read on from where it was read to."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder: Final = folder
        self._clock: Final = clock
        self._known: dict[Path, _Journal] = {}

    def look(self) -> list[RunGoingOn]:
        """The runs that go on at this moment, the oldest first."""
        there = sorted(self._folder.glob(f"*{SUFFIX}"))
        self._known = {path: self._known.get(path) or _Journal(path, self._clock) for path in there}
        return [found for each in self._known.values() if (found := each.look()) is not None]


class _Journal:
    def __init__(self, path: Path, clock: Callable[[], float]) -> None:
        self._path: Final = path
        self._clock: Final = clock
        self._header: dict[str, Any] | None = None
        self._lines: Final = GrowingFile(path)
        self._done = 0
        self._first: tuple[float, int] | None = None

    def look(self) -> RunGoingOn | None:
        """How far the run is; None where nobody writes to the journal, or it does not say what it is of."""
        if not is_running(self._path):
            return None
        self._header = self._header or read_header(self._path)
        total = _total(self._header)
        if self._header is None or total is None:
            return None
        self._done += sum(map(is_result, self._lines.new_lines()))
        done = min(total, self._done)
        now = self._clock()
        if self._first is None:
            self._first = now, done
        began, before = self._first
        rate = (done - before) / (now - began) if done > before and now > began else None
        return RunGoingOn(self._path, str(self._header.get("experiment")), done, total, rate)


_FOLLOWED: Final[dict[Path, RunsGoingOn]] = {}
"""The folders that were asked about, so that journals are read on and have a pace."""


def going_on_answer(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The `runs` that go on in the `folder` of the table `run`, or of the runs of the prompt at `path`.

    Those whose journals are `own` are left out.
    """
    run, prompt = optional(arguments, "run", str), optional(arguments, "path", str)
    if run is None and prompt is None:
        raise WrongUse("the command needs `path`, of a prompt file, or `run`, of a run's table")
    folder = Path(run).parent if run is not None else results_folder(Path(prompt or ""))
    own = optional(arguments, "own", list) or []
    with _LOOKING:
        found = _FOLLOWED.setdefault(folder, RunsGoingOn(folder)).look()
    runs = [each.as_json(can_cancel=False) for each in found if str(each.journal) not in own]
    return {"folder": str(folder), "runs": runs}


def _total(header: dict[str, Any] | None) -> int | None:
    """How many results the run is to have."""
    try:
        if header is None:
            return None
        rows, repeats = header["rendered"]["rows"], header["settings"]["repeats"]
        return int(rows) * len(header["models"]) * int(repeats)
    except (LookupError, TypeError, ValueError):
        return None
