"""The documents that the client has open, and changes of files: applied to the workspace, then emitted.

A document with much new text is prepared in time slices before it is applied. The protocol queues further
messages about it until then, so that their order does not change, and handles those about other documents.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Final

from lsprotocol import types

from promptls.facts import recording, unrecorded
from promptls.server.context import Context, Event
from promptls.server.progress import in_slices
from promptls.server.protocol import PromptProtocol
from promptls.server.state.auxiliary_documents import AuxiliaryDocuments
from promptls.server.to_proto import from_range, path_of
from promptls.syntax.source import Source
from promptls.text.positions import Span
from promptls.text.steps import Steps, finish
from promptls.workspace.disk import may_include, source_of
from promptls.workspace.settings import PYPROJECT_FILE, SETTINGS_FILE
from promptls.workspace.snapshot import Snapshot

log = logging.getLogger(__name__)

MANY_CHUNKS: Final = 100
"""How many new chunks take so long to analyze, some tens of milliseconds, that other files would wait."""
_FEW: Final = 20
"""How many chunks show what is read of each chunk."""


class Documents:
    """Applies changes in the order of their arrival. Components subscribe to the events."""

    def __init__(self, context: Context, auxiliary: AuxiliaryDocuments, protocol: PromptProtocol) -> None:
        self._context: Final = context
        self._auxiliary: Final = auxiliary
        self._protocol: Final = protocol
        self.on_open: Event[[str]] = Event()
        """A document was opened, of any kind: its path."""
        self.on_edit: Event[[str, Span, int]] = Event()
        """A span of a file was replaced: its path, the span, and the length of the new text."""
        self.on_change: Event[[str]] = Event()
        """An open file has a new text: its path."""
        self.on_close: Event[[str]] = Event()
        """A file was closed: its path."""
        self.on_files_change: Event[[list[str]]] = Event()
        """Files or folders on disk changed: their paths."""
        self.on_settings_change: Event[[]] = Event()
        """The settings of the editor or of a project changed."""
        self.on_invalidate: Event[[]] = Event()
        """Everything cached about files may be out of date."""

    # -- notifications of the client --------------------------------------------------

    def did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        """Use the client's text of a document until the client closes it."""
        document = params.text_document
        path = path_of(document.uri)
        self._context.uris[path] = document.uri
        is_open = path in self._context.snapshot.open_files
        if not is_open and self._auxiliary.accepts(path, document.text):
            self._auxiliary.open(path, document.text, document.version)
            self.on_open.emit(path)
            return
        self._apply(path, source_of(path, document.text), document.version)

    def did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        """Apply the changes, in order; ignore a document that is not open."""
        document = params.text_document
        path = path_of(document.uri)
        opened = self._context.snapshot.open_files.get(path)
        if opened is None:
            if path in self._auxiliary:
                self._auxiliary.change(path, params.content_changes, document.version)
            else:
                log.warning("a change to %s, which is not open, is ignored", document.uri)
            return
        source = opened.template.source
        for change in params.content_changes:
            span = Span(0, len(source))
            if isinstance(change, types.TextDocumentContentChangePartial):
                span = from_range(source, change.range, self._context.encoding)
            source = source.edited(span, change.text)
            self.on_edit.emit(path, span, len(change.text))
        self._apply(path, source, document.version or opened.version)

    def _apply(self, path: str, source: Source, version: int) -> None:
        """Use `source` for an open document, at once or after it is prepared."""
        opened = self._context.snapshot.open_files.get(path)
        steps = source.root.steps_since(opened.template.serial) if opened is not None else None
        new = len(source.chunks) if steps is None else sum(len(step.new) for step in steps)
        if new < MANY_CHUNKS:
            self._put(path, source, version)
        else:
            uri = self._context.uris[path]
            self._protocol.hold(uri)
            self._context.start(self._put_prepared(uri, path, source, version), f"opening {uri}")

    async def _put_prepared(self, uri: str, path: str, source: Source, version: int) -> None:
        try:
            await prepare(self._context, path, source)
        except Exception:
            log.exception("%s cannot be prepared", uri)
        self._put(path, source, version)
        self._protocol.release(uri)

    def _put(self, path: str, source: Source, version: int) -> None:
        is_new = path not in self._context.snapshot.open_files
        self._context.workspace.put(path, source, version)
        if is_new:
            self.on_open.emit(path)
        self.on_change.emit(path)

    def did_save(self, params: types.DidSaveTextDocumentParams) -> None:
        """Read the file from disk again, for clients that watch no files."""
        self.on_watched_files_changed([path_of(params.text_document.uri)])

    def did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        """Use the text of a file on disk again."""
        path = path_of(params.text_document.uri)
        if path in self._auxiliary:
            self._auxiliary.close(path)
        elif path in self._context.snapshot.open_files:
            self._context.workspace.close(path)
            self.on_close.emit(path)
            if path.endswith((SETTINGS_FILE, PYPROJECT_FILE)):
                self._settings_file_changed()
        self._context.uris.pop(path, None)

    # -- files and settings -------------------------------------------------------------

    def on_watched_files_changed(self, paths: list[str]) -> None:
        """Reread files or folders that were created, changed or deleted on disk."""
        workspace = self._context.workspace
        self._auxiliary.flush()
        for path in paths:
            if may_include(path):
                workspace.file_changed(path)
            elif path.endswith(".py"):
                workspace.python_changed(path)
        workspace.disk_changed()
        self.on_files_change.emit(paths)
        if any(path.endswith((SETTINGS_FILE, PYPROJECT_FILE)) for path in paths):
            self._settings_file_changed()
        else:
            self.on_invalidate.emit()

    def _settings_file_changed(self) -> None:
        self._context.workspace.settings_changed()
        self.on_did_change_settings()

    def on_did_change_settings(self) -> None:
        """Refresh what depends on settings, which is everything."""
        self.on_invalidate.emit()
        self.on_settings_change.emit()


def is_folder_of_prompts(snapshot: Snapshot, path: str) -> bool:
    """Return whether `path` is a folder, or was one with prompt files below it."""
    inside = path.rstrip("/\\") + os.sep
    return Path(path).is_dir() or any(known.startswith(inside) for known in snapshot.graph.paths)


async def prepare(context: Context, path: str, source: Source) -> None:
    """Compute what the first requests about a file with the text `source` read of it."""
    await in_slices(context, _preparation(context, path, source))


def _preparation(context: Context, path: str, source: Source) -> Steps[None]:
    """Answer the requests for the beginning of the text, which records the facts that they read of a chunk.

    Then compute these facts of each chunk, and the results that are cached for the whole file.
    """
    from promptls.ide.document_symbols import document_symbols
    from promptls.ide.ranges import folds
    from promptls.ide.semantic_tokens import file_run_steps
    from promptls.lint.runner import check, check_steps

    beginning = context.snapshot.with_open(path, source.beginning(_FEW), 0)
    with recording(beginning.reads_about(path)) as reads:
        check(beginning, path)
        finish(file_run_steps(beginning, path, context.encoding))
        folds(beginning, path)
        document_symbols(beginning, path)
    yield
    for chunk in source.chunks:
        for column in reads.columns:
            unrecorded(column, chunk)
        yield
    snapshot = context.snapshot.with_open(path, source, 0)
    yield from check_steps(snapshot, path)
    yield from file_run_steps(snapshot, path, context.encoding)
