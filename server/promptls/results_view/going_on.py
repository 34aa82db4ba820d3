"""The runs of a results' folder that go on now, followed by their journals as these grow."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from promptls.experiments.journal import SUFFIX, is_result, is_running, read_header


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
        self._read = 0
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
        self._read_on()
        done = min(total, self._done)
        now = self._clock()
        if self._first is None:
            self._first = now, done
        began, before = self._first
        rate = (done - before) / (now - began) if done > before and now > began else None
        return RunGoingOn(self._path, str(self._header.get("experiment")), done, total, rate)

    def _read_on(self) -> None:
        try:
            with self._path.open("rb") as stream:
                stream.seek(self._read)
                for line in stream:
                    if not line.endswith(b"\n"):
                        return
                    self._read += len(line)
                    self._done += is_result(line)
        except OSError:
            return


def _total(header: dict[str, Any] | None) -> int | None:
    """How many results the run is to have."""
    try:
        if header is None:
            return None
        rows, repeats = header["rendered"]["rows"], header["settings"]["repeats"]
        return int(rows) * len(header["models"]) * int(repeats)
    except (LookupError, TypeError, ValueError):
        return None
