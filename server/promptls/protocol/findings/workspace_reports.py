"""The reports of files that are not open, kept as long as nothing changes that they depend on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from promptls.protocol.session import Session
    from promptls.workspace.include_graph import IncludeGraph

Json = dict[str, Any]


_NOTHING: Final[Json] = {"kind": "full", "resultId": "not wanted", "items": []}


class WorkspaceReports:
    """Reports by path. Clients ask for all of them every other second, mostly when nothing has changed."""

    def __init__(self, session: Session) -> None:
        self._session: Final = session
        self._kept: dict[str, Json] = {}
        self._graph: IncludeGraph | None = None
        self._changed: set[str] = set()

    def file_changed(self, path: str) -> None:
        """An open file has another text."""
        if self._kept:
            self._changed.add(path)

    def everything_changed(self) -> None:
        """Anything may be other than it was."""
        self._kept.clear()

    def begin(self) -> None:
        """Forget what is out of date; to be called ahead of reports."""
        snapshot = self._session.snapshot
        if self._graph is not snapshot.graph:
            self._kept.clear()
            self._graph = snapshot.graph
        for path in self._changed:
            for other in (path, *snapshot.graph.around(path, snapshot.exists)):
                self._kept.pop(other, None)
        self._changed.clear()

    def report(self, path: str, previous: str | None) -> Json:
        """The file's diagnostics, or that they are those of the `previous` result, as the wire has it."""
        session = self._session
        opened = session.snapshot.open_files.get(path)
        whose = {"uri": session.uri_of(path), "version": opened.version if opened else None}
        if opened is not None:
            return {**session.diagnostics.report(path, previous), **whose}
        report = self._kept.get(path)
        if not session.snapshot.project(path).settings.diagnostics.closed_files:
            report = _NOTHING
        if report is None:
            report = self._kept[path] = session.diagnostics.report(path, None)
        if report["resultId"] == previous:
            report = {"kind": "unchanged", "resultId": previous}
        return {**report, **whose}
