"""The components of the server for one client, and the events that each subscribes to.

This is the only module that knows all components. A component receives the `Context` and the components
that it reads. After a pause, a scheduler refreshes what reads something that has changed.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from promptls.facts import Reads, recording
from promptls.results_view.results_client import ResultsProcess
from promptls.server.capabilities import resolve_capabilities
from promptls.server.context import Context, Event
from promptls.server.diagnostics import Diagnostics, RenderedFindings
from promptls.server.folder_trust import Trust
from promptls.server.open_documents import Documents
from promptls.server.shown_text import remove_shown
from promptls.server.state.auxiliary_documents import AuxiliaryDocuments
from promptls.server.state.findings import DataFindings, ProgramFindings, SettingsFindings, report_problems
from promptls.server.state.latest_runs import LatestRuns
from promptls.server.state.scan import SymbolIndex, WorkspaceScan
from promptls.server.state.sent_tokens import Folds, SemanticTokens
from promptls.server.to_proto import is_file, path_of, position_encoding
from promptls.workspace.snapshot import read_included
from promptls.workspace.workspace import Workspace

if TYPE_CHECKING:
    from lsprotocol import types
    from pygls.lsp.server import LanguageServer

    from promptls.server.protocol import PromptProtocol
    from promptls.server.state.latest_renderings import Renderings

SHORT_PAUSE_SECONDS: Final = 0.03
"""The pause after which the diagnostics of related files are refreshed."""
PAUSE_SECONDS: Final = 0.2
"""The pause after which everything else is refreshed."""
IDLE_SECONDS: Final = 10.0
"""The pause after which garbage in reference cycles is freed."""
_MAX_OLD_OBJECTS: Final = 50_000
"""The maximum number of older objects that are searched for garbage in a pause, which takes about 30 ms."""


def free_garbage() -> None:
    """Free the garbage in reference cycles among the objects made since the last call.

    What remains is not searched again, so that no request waits for a search through all open files. Files
    and renderings are in no cycles: they are freed when the last reference to them is gone.
    """
    is_short = len(gc.get_objects(generation=2)) <= _MAX_OLD_OBJECTS
    gc.collect(2 if is_short else 1)
    gc.freeze()


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
        self._timer = asyncio.get_running_loop().call_later(IDLE_SECONDS, free_garbage)
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


class Session:
    """One client. Handlers use the components they need (`features.py`); no component knows the session."""

    def __init__(self, server: LanguageServer, protocol: PromptProtocol) -> None:
        params = protocol.initialize_params
        context = self.context = Context(
            server,
            Workspace(_folders(params)),
            resolve_capabilities(params.capabilities),
            position_encoding(server.workspace.position_encoding),
        )
        self.results: Final = ResultsProcess()
        self.auxiliary: Final = AuxiliaryDocuments(context)
        self.documents: Final = Documents(context, self.auxiliary, protocol)
        self.trust: Final = Trust(context, params.initialization_options)
        self.scan: Final = WorkspaceScan(context)
        self.rendered_findings: Final = RenderedFindings(context)
        self.runs: Final = LatestRuns(context)
        self.diagnostics: Final = Diagnostics(context, self.rendered_findings, self.runs)
        self.scheduler: Final = Scheduler(context, self.diagnostics.is_current)
        self.data_findings: Final = DataFindings(context, self.auxiliary, self.runs)
        self.settings_findings: Final = SettingsFindings(context)
        self.program_findings: Final = ProgramFindings(context, self.auxiliary, lambda: self.renderings)
        self.semantic_tokens: Final = SemanticTokens(context)
        self.folds: Final = Folds(context)
        self.symbol_index: Final = SymbolIndex(context)
        self._subscribe()
        self.trust.refresh()

    @cached_property
    def renderings(self) -> Renderings:
        """The renderings of the open files; the rendering modules are imported on first use."""
        from promptls.server.state.latest_renderings import Renderings

        renderings = Renderings(self.context)
        self.documents.on_change(renderings.on_did_change)
        self.documents.on_close(renderings.on_did_close)
        renderings.on_render(self.rendered_findings.on_render)
        return renderings

    def _subscribe(self) -> None:
        documents = self.documents
        documents.on_open(self.trust.on_did_open)
        documents.on_open(self.data_findings.on_did_open)
        documents.on_edit(self.rendered_findings.on_did_edit)
        documents.on_edit(self.diagnostics.on_did_edit)
        documents.on_change(self.diagnostics.on_did_change)
        documents.on_change(self.settings_findings.on_did_change)
        documents.on_change(self.scheduler.on_did_change)
        for closed in (
            self.diagnostics,
            self.runs,
            self.data_findings,
            self.rendered_findings,
            self.semantic_tokens,
            self.folds,
        ):
            documents.on_close(closed.on_did_close)
        documents.on_files_change(self.rendered_findings.on_files_change)
        documents.on_files_change(self.scan.on_files_change)
        documents.on_files_change(self.symbol_index.on_files_change)
        documents.on_settings_change(partial(report_problems, self.context))
        documents.on_settings_change(self.settings_findings.refresh)
        documents.on_settings_change(self.scan.start)  # `include` may add files
        documents.on_invalidate(self.scheduler.invalidate)

        self.auxiliary.on_change(self.program_findings.on_did_change)
        self.auxiliary.on_close(self.program_findings.on_did_close)
        self.auxiliary.on_close(self.data_findings.on_did_close)
        self.auxiliary.on_calls_change(self.scheduler.on_did_change)
        self.trust.on_change(documents.on_invalidate.emit)
        self.scan.on_found(documents.on_invalidate.emit)
        self.scan.on_experiments(self.runs.refresh)
        self.rendered_findings.on_change(self.diagnostics.refresh)
        self.runs.on_change(self.diagnostics.refresh)
        self.runs.on_refresh(self.data_findings.refresh)

        self.scheduler.on_short_pause(self.diagnostics.refresh)
        self.scheduler.on_pause(lambda others, _rendered: self.semantic_tokens.refresh(others))
        self.scheduler.on_pause(lambda others, _rendered: self.folds.refresh(others))
        self.scheduler.on_pause(lambda _others, rendered: self.runs.refresh(rendered))
        self.scheduler.on_pause(lambda _others, rendered: self.renderings.refresh(rendered))
        self.scheduler.on_pause(lambda _others, _rendered: self.program_findings.refresh())
        self.scheduler.on_pause(lambda _others, _rendered: self.settings_findings.refresh())
        self.scheduler.on_pause(lambda _others, _rendered: self.data_findings.refresh_open())

    async def close(self) -> None:
        """End all work and processes, and delete the files that were shown."""
        self.scheduler.close()
        self.program_findings.close()
        tasks = list(self.context.tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if "renderings" in self.__dict__:
            await self.renderings.close()
        await self.results.close()
        remove_shown(self.context)


def _folders(params: types.InitializeParams) -> list[Path]:
    uris = [folder.uri for folder in params.workspace_folders or ()]
    if not uris and params.root_uri:
        uris = [params.root_uri]
    return [Path(path) for path in map(path_of, uris) if is_file(path)]
