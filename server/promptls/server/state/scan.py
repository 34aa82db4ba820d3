"""The scan of the workspace: includes of prompt files, and the Python calls that load them."""

from __future__ import annotations

import asyncio
from typing import Final

from promptls.server.context import Context, Event
from promptls.server.documents import is_folder_of_prompts
from promptls.server.progress import Slices, progress
from promptls.workspace.disk import has_prompt_name
from promptls.workspace.python_calls import TemplateCall, scanned_calls
from promptls.workspace.python_experiments import PythonFindings, scanned_experiments
from promptls.workspace.workspace import scanned

_UNSEEN_SECONDS: Final = 0.3
"""Scans that end sooner show no progress, which would only flicker."""
_REPORT_SECONDS: Final = 0.2


class Scan:
    """One scan at a time: a new one replaces one that still runs."""

    def __init__(self, context: Context) -> None:
        self._context: Final = context
        self.on_found: Event[[]] = Event()
        """The scan has found what any file may depend on."""
        self.on_experiments: Event[[list[str]]] = Event()
        """The scan has found experiments, which these open files may be used in."""
        self._running: asyncio.Task[None] | None = None
        self._touched: set[str] = set()

    def start(self) -> asyncio.Task[None]:
        """Begin to read all folders again."""
        if self._running is not None:
            self._running.cancel()
        self._touched.clear()
        names: dict[str, tuple[str, ...]] = {}
        self._running = self._context.start(self._scan(names), "the scan of the workspace")
        if self._context.capabilities.work_done_progress:
            self._context.start(self._show(self._running, names), "the progress of the scan")
        return self._running

    def on_files_change(self, paths: list[str]) -> None:
        """Read changed files again that a running scan may have read, and folders of prompts."""
        if self._running is not None:
            self._touched.update(filter(has_prompt_name, paths))
        if any(is_folder_of_prompts(self._context.snapshot, path) for path in paths):
            self.start()

    async def finished(self) -> None:
        """Wait until no scan runs."""
        while (running := self._running) is not None:
            await asyncio.wait([running])

    async def _scan(self, names: dict[str, tuple[str, ...]]) -> None:
        try:
            slices = Slices()
            for _ in scanned(self._context.snapshot.roots, names):
                await slices.pause()
            workspace = self._context.workspace
            workspace.take_scan(names)
            for path in self._touched:
                workspace.file_changed(path)
            self.on_found.emit()
            calls: dict[str, tuple[TemplateCall, ...]] = {}
            for _ in scanned_calls(self._context.snapshot.roots, calls):
                await slices.pause()
            if calls or workspace.snapshot.calls:
                workspace.take_calls(calls)
                self.on_found.emit()
            written: dict[str, PythonFindings] = {}
            for _ in scanned_experiments(self._context.snapshot.roots, written):
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
        async with progress(self._context, None, "Reading prompt files", cancellable=False) as shown:
            while not scan.done():
                shown.report(f"{len(names):,} files")
                await asyncio.wait([scan], timeout=_REPORT_SECONDS)
