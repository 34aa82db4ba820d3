"""The components of the server for one client, and the events that each subscribes to.

This is the only module that knows all components. A component receives the `Context` and the components
that it reads.
"""

from __future__ import annotations

import asyncio
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from promptls.results_view.results_client import ResultsProcess
from promptls.server.capabilities import resolve_capabilities
from promptls.server.context import Context
from promptls.server.diagnostics import Diagnostics, RenderedFindings
from promptls.server.folder_trust import Trust
from promptls.server.open_documents import Documents
from promptls.server.scheduler import Scheduler
from promptls.server.shown_text import remove_shown
from promptls.server.state.auxiliary_documents import AuxiliaryDocuments
from promptls.server.state.findings import DatasetFindings, ProgramFindings, SettingsFindings, report_problems
from promptls.server.state.latest_runs import LatestRuns
from promptls.server.state.scan import SymbolIndex, WorkspaceScan
from promptls.server.state.sent_tokens import Folds, SemanticTokens
from promptls.server.to_proto import is_file, path_of, position_encoding
from promptls.workspace.workspace import Workspace

if TYPE_CHECKING:
    from lsprotocol import types
    from pygls.lsp.server import LanguageServer

    from promptls.server.state.latest_renderings import Renderings


class Session:
    """One client. Handlers use the components they need (`features.py`); no component knows the session."""

    def __init__(self, server: LanguageServer, params: types.InitializeParams) -> None:
        context = self.context = Context(
            server,
            Workspace(_folders(params)),
            resolve_capabilities(params.capabilities),
            position_encoding(server.workspace.position_encoding),
        )
        self.results: Final = ResultsProcess()
        self.auxiliary: Final = AuxiliaryDocuments(context)
        self.documents: Final = Documents(context, self.auxiliary)
        self.trust: Final = Trust(context, params.initialization_options)
        self.scan: Final = WorkspaceScan(context)
        self.rendered_findings: Final = RenderedFindings(context)
        self.runs: Final = LatestRuns(context)
        self.diagnostics: Final = Diagnostics(context, self.rendered_findings, self.runs)
        self.scheduler: Final = Scheduler(context, self.diagnostics.is_current)
        self.dataset_findings: Final = DatasetFindings(context, self.runs)
        self.settings_findings: Final = SettingsFindings(context)
        self.program_findings: Final = ProgramFindings(context, self.auxiliary)
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
        documents.on_open(lambda _path: self.settings_findings.refresh())
        documents.on_edit(self.rendered_findings.on_did_edit)
        documents.on_change(self.diagnostics.on_did_change)
        documents.on_change(self.settings_findings.on_did_change)
        documents.on_change(self.scheduler.on_did_change)
        for closed in (
            self.diagnostics,
            self.runs,
            self.dataset_findings,
            self.rendered_findings,
            self.semantic_tokens,
            self.folds,
        ):
            documents.on_close(closed.on_did_close)
        documents.on_files_change(self.scan.on_files_change)
        documents.on_files_change(self.symbol_index.on_files_change)
        documents.on_settings_change(partial(report_problems, self.context))
        documents.on_settings_change(self.settings_findings.refresh)
        documents.on_invalidate(self.scheduler.invalidate)

        self.auxiliary.on_change(self.program_findings.on_did_change)
        self.auxiliary.on_close(self.program_findings.on_did_close)
        self.trust.on_change(documents.on_invalidate.emit)
        self.scan.on_found(documents.on_invalidate.emit)
        self.scan.on_experiments(self.runs.refresh)
        self.rendered_findings.on_change(self.diagnostics.refresh)
        self.runs.on_change(self.diagnostics.refresh)
        self.runs.on_refresh(self.dataset_findings.refresh)

        self.scheduler.on_short_pause(self.diagnostics.refresh)
        self.scheduler.on_pause(lambda others, _rendered: self.semantic_tokens.refresh(others))
        self.scheduler.on_pause(lambda others, _rendered: self.folds.refresh(others))
        self.scheduler.on_pause(lambda _others, rendered: self.runs.refresh(rendered))
        self.scheduler.on_pause(lambda _others, rendered: self.renderings.refresh(rendered))
        self.scheduler.on_pause(lambda _others, _rendered: self.program_findings.refresh())

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
