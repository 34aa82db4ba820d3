"""The scan of the workspace, and the index of its symbols."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, NamedTuple

from lsprotocol import types

from promptls.facts import Reads, recording
from promptls.semantic.kind import Kind
from promptls.server.context import Context, Event
from promptls.server.open_documents import is_folder_of_prompts
from promptls.server.progress import Slices, progress
from promptls.server.to_proto import to_range
from promptls.workspace.disk import may_include, scan_python
from promptls.workspace.python_calls import TemplateCall, calls_in_file
from promptls.workspace.python_experiments import PythonFindings, findings_in_file
from promptls.workspace.workspace import scan_names

if TYPE_CHECKING:
    from promptls.ide.document_symbols import NamedSymbol

_UNSEEN_SECONDS: Final = 0.3
"""Scans that end sooner show no progress, to avoid flicker."""
_REPORT_SECONDS: Final = 0.2


class WorkspaceScan:
    """One scan at a time: a new one replaces one that still runs."""

    def __init__(self, context: Context) -> None:
        self._context: Final = context
        self.on_found: Event[[]] = Event()
        """The scan has found the files that others may depend on."""
        self.on_experiments: Event[[list[str]]] = Event()
        """The scan has found experiments that may use these open files."""
        self._running: asyncio.Task[None] | None = None
        self._touched: set[str] = set()

    def start(self) -> asyncio.Task[None]:
        """Start reading all folders again."""
        if self._running is not None:
            self._running.cancel()
        self._touched.clear()
        names: dict[str, tuple[str, ...]] = {}
        self._running = self._context.start(self._scan(names), "the scan of the workspace")
        if self._context.capabilities.work_done_progress:
            self._context.start(self._show(self._running, names), "the progress of the scan")
        return self._running

    def on_files_change(self, paths: list[str]) -> None:
        """Reread changed files that a running scan may have read, and folders of prompts."""
        if self._running is not None:
            self._touched.update(filter(may_include, paths))
        if any(is_folder_of_prompts(self._context.snapshot, path) for path in paths):
            self.start()

    async def finished(self) -> None:
        """Wait until no scan is running."""
        while (running := self._running) is not None:
            await asyncio.wait([running])

    async def _scan(self, names: dict[str, tuple[str, ...]]) -> None:
        try:
            slices = Slices()
            for _ in scan_names(self._context.snapshot.roots, names, self._context.snapshot):
                await slices.pause()
            workspace = self._context.workspace
            workspace.take_scan(names)
            for path in self._touched:
                workspace.file_changed(path)
            self.on_found.emit()
            calls: dict[str, tuple[TemplateCall, ...]] = {}
            for _ in scan_python(calls_in_file, self._context.snapshot.roots, calls):
                await slices.pause()
            if calls or workspace.snapshot.calls:
                workspace.take_calls(calls)
                self.on_found.emit()
            written: dict[str, PythonFindings] = {}
            for _ in scan_python(findings_in_file, self._context.snapshot.roots, written):
                await slices.pause()
            if written or workspace.snapshot.written:
                workspace.take_written(written)
                self.on_experiments.emit(list(self._context.snapshot.open_files))
        finally:
            if self._running is asyncio.current_task():
                self._running = None

    async def _show(self, scan: asyncio.Task[None], names: dict[str, tuple[str, ...]]) -> None:
        """Show the progress of a scan that takes long."""
        await asyncio.wait([scan], timeout=_UNSEEN_SECONDS)
        if scan.done():
            return
        async with progress(
            self._context, None, "Reading prompt files", cancellable=False, percentage=None
        ) as shown:
            while not scan.done():
                shown.report(f"{len(names):,} files")
                await asyncio.wait([scan], timeout=_REPORT_SECONDS)


class PlacedSymbol(NamedTuple):
    """A symbol of the workspace, and its range at the client."""

    symbol: NamedSymbol
    place: types.Range


class SymbolIndex:
    """Symbols by file. A file is reread when a file that its symbols were read from changes."""

    def __init__(self, context: Context) -> None:
        self._context: Final = context
        self._cache: dict[str, tuple[Reads, tuple[PlacedSymbol, ...]]] = {}

    def paths(self) -> tuple[str, ...]:
        """Return the prompt files of the workspace and those that are open, sorted."""
        known = self._context.snapshot.known_paths
        for gone in self._cache.keys() - set(known):
            del self._cache[gone]
        return known

    def of_file(self, path: str) -> tuple[PlacedSymbol, ...]:
        """Return the named symbols in one file."""
        cached = self._cache.get(path)
        if cached is None or not cached[0].hold(self._context.snapshot):
            with recording() as reads:
                cached = self._cache[path] = (reads, self._read(path))
        return cached[1]

    def on_files_change(self, paths: list[str]) -> None:
        """Discard the symbols of written files: their new date may have been seen with their old text."""
        for path in paths:
            for stale in [each for each, (reads, _) in self._cache.items() if reads.mention(path)]:
                del self._cache[stale]

    def _read(self, path: str) -> tuple[PlacedSymbol, ...]:
        from promptls.ide.document_symbols import named_symbols

        context = self._context
        template = context.snapshot.template(path) if context.kind(path) is not Kind.OTHER else None
        if template is None:
            return ()
        return tuple(
            PlacedSymbol(symbol, to_range(template.source, symbol.span, context.encoding))
            for symbol in named_symbols(context.snapshot, path)
        )
