"""The runs of the experiments of open files: the last ones, read from disk, and those in progress."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from promptls.server.context import Context, Event

if TYPE_CHECKING:
    from promptls.ide.code_lenses import Running
    from promptls.ide.experiment_runs import ExperimentRuns

log = logging.getLogger(__name__)

_REFRESH_SECONDS: Final = 0.5
"""How often code lenses are refreshed during a run."""


class LatestRuns:
    """The runs of each open file."""

    def __init__(self, context: Context) -> None:
        self._context: Final = context
        self.on_change: Event[[list[str]]] = Event()
        """The last runs of these files have changed."""
        self.on_refresh: Event[[list[str]]] = Event()
        """The last runs of these files were reread; the datasets may have changed too."""
        self._latest: dict[str, tuple[ExperimentRuns, ...]] = {}
        self._running: dict[tuple[str, str], _Run] = {}
        self._refreshing: asyncio.TimerHandle | None = None

    def latest(self, path: str) -> tuple[ExperimentRuns, ...]:
        """Return the experiments of a file with their last runs, as of the last refresh; empty before it."""
        return self._latest.get(path, ())

    def current(self, path: str) -> tuple[ExperimentRuns, ...]:
        """Return the experiments of a file with their last runs, read now; emit `on_change` if necessary."""
        before = self.latest(path)
        try:
            from promptls.ide.experiment_runs import experiment_runs

            self._latest[path] = experiment_runs(self._context.snapshot, path)
        except Exception:
            log.exception("the runs of %s cannot be read", path)
            self._latest[path] = ()
        if self._latest[path] != before:
            self.on_change.emit([path])
        return self._latest[path]

    def refresh(self, paths: list[str]) -> None:
        """Reread the last runs of files; the runs, or whether they are stale, may have changed."""
        changed = [path for path in paths if self.latest(path) != self.current(path)]
        if changed:
            self._context.refresh_code_lenses()
        self.on_refresh.emit(paths)

    def on_did_close(self, path: str) -> None:
        """Forget a closed file."""
        self._latest.pop(path, None)

    # -- runs in progress -------------------------------------------------------------

    def running(self, path: str) -> dict[str, Running]:
        """Return the progress of the running experiments of a file, by their names."""
        return {name: each.state for (of, name), each in self._running.items() if of == path}

    @contextmanager
    def in_progress(self, path: str, experiment: str, cancel: Callable[[], object]) -> Iterator[None]:
        """Show inside the `with` block that the experiment is running; `cancel` ends the run."""
        key = (path, experiment)
        this = self._running[key] = _Run(cancel)
        self._refresh_soon()
        try:
            yield
        finally:
            # A second run of the same experiment is shown in place of the first.
            if self._running.get(key) is this:
                del self._running[key]
            self._context.refresh_code_lenses()

    def paths(self) -> list[str]:
        """Return the paths of the runs in progress."""
        return [each.path for each in self._running.values() if each.path]

    def advanced(self, path: str, experiment: str, state: Running, run: str = "") -> None:
        """Record the progress of the run of the experiment, and the path of one that has started."""
        this = self._running.get((path, experiment))
        if this is not None:
            this.state = state
            this.path = run or this.path
            self._refresh_soon()

    def cancel(self, path: str, experiment: str | None) -> int:
        """Cancel the runs of one or all experiments of the file; return the number of runs."""
        found = [
            each for (of, name), each in self._running.items() if of == path and experiment in {None, name}
        ]
        for each in found:
            each.cancel()
        return len(found)

    def _refresh_soon(self) -> None:
        if self._refreshing is None:
            loop = asyncio.get_running_loop()
            self._refreshing = loop.call_later(_REFRESH_SECONDS, self._refresh)

    def _refresh(self) -> None:
        self._refreshing = None
        self._context.refresh_code_lenses()


class _Run:
    def __init__(self, cancel: Callable[[], object]) -> None:
        self.cancel: Final = cancel
        from promptls.ide.code_lenses import Running

        self.state = Running(0, 0)
        self.path = ""
