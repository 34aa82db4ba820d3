"""The last runs of the open files' experiments, read from the disk when that may have changed."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from promptls.features.experiment_runs import ExperimentRuns, experiment_runs

if TYPE_CHECKING:
    from promptls.protocol.session import Session

log = logging.getLogger(__name__)


class Runs:
    """What is known of the runs of each open file; what is shown of it is refreshed when it changes."""

    def __init__(self, session: Session) -> None:
        self._session: Final = session
        self._newest: dict[str, tuple[ExperimentRuns, ...]] = {}

    def newest(self, path: str) -> tuple[ExperimentRuns, ...]:
        """The file's experiments with their last runs, as of the last look; none before the first."""
        return self._newest.get(path, ())

    def current(self, path: str) -> tuple[ExperimentRuns, ...]:
        """The file's experiments with their last runs, looked up now."""
        try:
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
