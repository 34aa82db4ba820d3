"""What the server knows of its client and the client's files. Belongs to the event loop's thread."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Coroutine
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types

from promptls.meaning.kind import Kind
from promptls.protocol.client.flags import client_flags
from promptls.protocol.convert import is_file, path_of, unit_of, uri_of
from promptls.protocol.diagnostics import Diagnostics
from promptls.protocol.findings.dataset_findings import DatasetFindings
from promptls.protocol.findings.program_findings import ProgramFindings
from promptls.protocol.findings.rendered_findings import RenderedFindings
from promptls.protocol.findings.settings_findings import SettingsFindings
from promptls.protocol.findings.workspace_reports import WorkspaceReports
from promptls.protocol.kept.folds import Folds
from promptls.protocol.kept.held_documents import HeldDocuments
from promptls.protocol.kept.runs import Runs
from promptls.protocol.kept.scan import Scan
from promptls.protocol.kept.semantic_tokens import SemanticTokens
from promptls.protocol.kept.symbol_index import SymbolIndex
from promptls.protocol.notifications.configuration import report_problems
from promptls.protocol.settling import Settling
from promptls.results_view.client import ResultsProcess
from promptls.workspace.disk import has_prompt_name
from promptls.workspace.project_settings import PYPROJECT_FILE, SETTINGS_FILE
from promptls.workspace.snapshot import Snapshot
from promptls.workspace.workspace import Workspace

if TYPE_CHECKING:
    from promptls.protocol.kept.renderings import Renderings
    from promptls.protocol.server import PromptServer

log = logging.getLogger(__name__)


class Session:
    """One client: its flags, its open files, and what is worked out for it."""

    def __init__(self, server: PromptServer) -> None:
        self.server: Final = server
        params = server.protocol.initialize_params
        self.workspace: Final = Workspace(_folders(params))
        self.diagnostics: Final = Diagnostics(self)
        self.runs: Final = Runs(self)
        self.dataset_findings: Final = DatasetFindings(self)
        self.settings_findings: Final = SettingsFindings(self)
        self.results: Final = ResultsProcess()
        self.rendered_findings: Final = RenderedFindings(self)
        self.semantic_tokens: Final = SemanticTokens(self)
        self.folds: Final = Folds(self)
        self.symbol_index: Final = SymbolIndex(self)
        self.settling: Final = Settling(self)
        self.scan: Final = Scan(self)
        self.held: Final = HeldDocuments(self)
        self.program_findings: Final = ProgramFindings(self)
        self.reports: Final = WorkspaceReports(self)
        self.flags: Final = client_flags(params.capabilities)
        self.unit: Final = unit_of(server.workspace.position_encoding)
        """What the columns of positions count."""
        self.trusted: Final = _trusted(params.initialization_options)
        """Whether the client trusts the workspace; None for a client that has no such notion."""
        self.workspace.set_trusted(trusted=self.trusted is True)
        self.reported: Final[set[str]] = set()
        """What has been said to the user already."""
        self._uris: dict[str, str] = {}
        self._tasks: set[asyncio.Task[Any]] = set()

    @property
    def snapshot(self) -> Snapshot:
        """The workspace as it is now."""
        return self.workspace.snapshot

    @cached_property
    def renderings(self) -> Renderings:
        """The renderings of the open files; what makes them is loaded when they are first asked for."""
        from promptls.protocol.kept.renderings import Renderings

        return Renderings(self)

    @property
    def _has_rendered(self) -> bool:
        return "renderings" in self.__dict__

    # -- files --------------------------------------------------------------------

    def remember_uri(self, uri: str) -> str:
        """The path of a document's URI; `uri_of` gives that URI back as the client wrote it."""
        path = path_of(uri)
        self._uris[path] = uri
        return path

    def forget_uri(self, path: str) -> None:
        """Let the path's URI be made from the path again."""
        self._uris.pop(path, None)

    def uri_of(self, path: str) -> str:
        """The URI of a file, as the client wrote it where it has the file open."""
        return self._uris.get(path) or uri_of(path)

    def kind(self, path: str) -> Kind:
        """The kind of a file; files that are not named as prompt files are none, unless a setting says so.

        JSON files are looked at, because Ragas saves its prompts there.
        """
        named = has_prompt_name(path) or path.lower().endswith(".json") or not is_file(path)
        if named or self.snapshot.project(path).includes(path):
            return self.snapshot.kind(path)
        return Kind.OTHER

    def prompt_path(self, uri: str) -> str | None:
        """The path of a URI, or None where it leads to no prompt file."""
        path = path_of(uri)
        return None if self.kind(path) is Kind.OTHER else path

    # -- what has happened ----------------------------------------------------------

    def file_changed(self, path: str) -> None:
        """The text of an open file is another one."""
        self.diagnostics.file_changed(path)
        self.settings_findings.file_changed(path)
        self.reports.file_changed(path)
        if self._has_rendered:
            self.renderings.edited(path)
        self.settling.changed(path)

    def file_closed(self, path: str) -> None:
        """The client has closed a file."""
        self.reports.file_changed(path)
        self.diagnostics.file_closed(path)
        self.runs.file_closed(path)
        if self._has_rendered:
            self.renderings.file_closed(path)
        self.rendered_findings.file_closed(path)
        self.semantic_tokens.file_closed(path)
        self.folds.file_closed(path)
        self.forget_uri(path)
        if path.endswith((SETTINGS_FILE, PYPROJECT_FILE)):
            self._settings_file_changed()

    def files_changed(self, paths: list[str]) -> None:
        """Files or folders on disk may be others than they were."""
        self.held.settle()
        for path in paths:
            if has_prompt_name(path):
                self.scan.touched(path)
                self.workspace.file_changed(path)
            elif path.endswith(".py"):
                self.workspace.python_changed(path)
        self.workspace.disk_changed()
        for path in paths:
            self.symbol_index.file_changed(path)
        if any(is_folder_of_prompts(self.snapshot, path) for path in paths):
            self.scan.start()
        if any(path.endswith((SETTINGS_FILE, PYPROJECT_FILE)) for path in paths):
            self._settings_file_changed()
        else:
            self.everything_changed()

    def _settings_file_changed(self) -> None:
        self.workspace.settings_changed()
        self.settings_changed()

    def settings_changed(self) -> None:
        """The settings of the editor or of a project are others than they were."""
        self.everything_changed()
        report_problems(self, list(self.snapshot.open_files))
        self.settings_findings.look_again()

    def everything_changed(self) -> None:
        """Anything that is known of the files may be out of date."""
        self.reports.everything_changed()
        self.settling.everything_changed()

    def log(self, message: str, kind: types.MessageType = types.MessageType.Info) -> None:
        """Put a message into the client's log."""
        self.server.window_log_message(types.LogMessageParams(kind, message))

    # -- what is shown ----------------------------------------------------------------

    def refresh_inlay_hints(self) -> None:
        """Let the client ask for its inlay hints again, where it can be told to."""
        if self.flags.refreshes_inlay_hints:
            self.server.workspace_inlay_hint_refresh(None)

    def refresh_code_lenses(self) -> None:
        """Let the client ask for its code lenses again, where it can be told to."""
        if self.flags.refreshes_code_lenses:
            self.server.workspace_code_lens_refresh(None)

    def refresh_folds(self) -> None:
        """Let the client ask for its folds again, where it can be told to."""
        if self.flags.refreshes_folds:
            self.server.workspace_folding_range_refresh(None)

    def refresh_semantic_tokens(self) -> None:
        """Let the client ask for its semantic tokens again, where it can be told to."""
        if self.flags.refreshes_semantic_tokens:
            self.server.workspace_semantic_tokens_refresh(None)

    # -- work -----------------------------------------------------------------------

    def start(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """Run `work` beside everything else; an exception is logged under its name."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)

        def finished(done: asyncio.Task[None]) -> None:
            self._tasks.discard(done)
            if not done.cancelled() and (error := done.exception()) is not None:
                log.error("%s failed", name, exc_info=error)

        task.add_done_callback(finished)
        return task

    async def close(self) -> None:
        """End all work that goes on."""
        self.settling.close()
        self.program_findings.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._has_rendered:
            await self.renderings.close()
        await self.results.close()


def _folders(params: types.InitializeParams) -> list[Path]:
    uris = [folder.uri for folder in params.workspace_folders or ()]
    if not uris and params.root_uri:
        uris = [params.root_uri]
    return [Path(path) for path in map(path_of, uris) if is_file(path)]


def is_folder_of_prompts(snapshot: Snapshot, path: str) -> bool:
    """Whether there is a folder at `path`, or prompt files were known below it."""
    inside = path.rstrip("/\\") + os.sep
    return Path(path).is_dir() or any(known.startswith(inside) for known in snapshot.graph.paths)


def _trusted(options: Any) -> bool | None:
    """What the client says of trust; anything but a plain yes is taken for a no."""
    if not isinstance(options, dict) or "trusted" not in options:
        return None
    return options["trusted"] is True
