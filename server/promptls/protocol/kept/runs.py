"""The runs of the open files' experiments: the last ones, read from the disk, and those that go on."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from promptls.features.run_words import Running

if TYPE_CHECKING:
    from promptls.features.experiment_runs import ExperimentRuns
    from promptls.protocol.session import Session

log = logging.getLogger(__name__)

_REFRESH_SECONDS: Final = 0.5
"""How often lenses are shown anew while a run goes on."""


class Runs:
    """What is known of the runs of each open file; what is shown of it is refreshed when it changes."""

    def __init__(self, session: Session) -> None:
        self._session: Final = session
        self._newest: dict[str, tuple[ExperimentRuns, ...]] = {}
        self._running: dict[tuple[str, str], _GoingOn] = {}
        self._refreshing: asyncio.TimerHandle | None = None

    def newest(self, path: str) -> tuple[ExperimentRuns, ...]:
        """The file's experiments with their last runs, as of the last look; none before the first."""
        return self._newest.get(path, ())

    def current(self, path: str) -> tuple[ExperimentRuns, ...]:
        """The file's experiments with their last runs, looked up now."""
        try:
            from promptls.features.experiment_runs import experiment_runs

            self._newest[path] = experiment_runs(self._session.snapshot, path)
        except Exception:
            log.exception("the runs of %s cannot be read", path)
            self._newest[path] = ()
        return self._newest[path]

    def look_again(self, paths: list[str]) -> None:
        """The runs of the files at `paths`, or whether they are stale, may have changed."""
        changed = [path for path in paths if self.newest(path) != self.current(path)]
        if changed:
            self._session.refresh_code_lenses()
            self._session.diagnostics.look_again(changed)
        for path in paths:
            self._session.dataset_findings.look_again(path)

    def file_closed(self, path: str) -> None:
        """Forget the file."""
        self._newest.pop(path, None)
        self._session.dataset_findings.file_closed(path)

    # -- runs that go on ------------------------------------------------------------

    def running(self, path: str) -> dict[str, Running]:
        """How far the runs of the file's experiments are that go on now, by the experiment's name."""
        return {name: each.state for (of, name), each in self._running.items() if of == path}

    @contextmanager
    def going_on(self, path: str, experiment: str, cancel: Callable[[], object]) -> Iterator[None]:
        """Show, within the block, that the experiment is run; `cancel` ends that run."""
        key = (path, experiment)
        this = self._running[key] = _GoingOn(cancel)
        self._refresh_soon()
        try:
            yield
        finally:
            # A second run of the same experiment is shown in place of the first.
            if self._running.get(key) is this:
                del self._running[key]
            self._session.refresh_code_lenses()

    def began(self, path: str, experiment: str, journal: str) -> None:
        """The run of the experiment keeps its results in `journal`."""
        this = self._running.get((path, experiment))
        if this is not None:
            this.journal = journal

    def journals(self) -> list[str]:
        """Where the runs that go on keep their results."""
        return [each.journal for each in self._running.values() if each.journal]

    def advanced(self, path: str, experiment: str, state: Running) -> None:
        """The run of the experiment is so far."""
        this = self._running.get((path, experiment))
        if this is not None:
            this.state = state
            self._refresh_soon()

    def cancel(self, path: str, experiment: str | None) -> int:
        """End the runs of the file's experiment, or of all of them; how many there were."""
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
        self._session.refresh_code_lenses()


class _GoingOn:
    def __init__(self, cancel: Callable[[], object]) -> None:
        self.cancel: Final = cancel
        self.state = Running(0, 0)
        self.journal = ""
