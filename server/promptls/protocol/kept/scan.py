"""The scan of the workspace: which prompt file includes which, and which Python calls load them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from promptls.protocol.client.progress import progress
from promptls.protocol.slices import Slices
from promptls.workspace.python_calls import TemplateCall, scanned_calls
from promptls.workspace.python_experiments import scanned_experiments
from promptls.workspace.python_findings import PythonFindings
from promptls.workspace.workspace import scanned

if TYPE_CHECKING:
    from promptls.protocol.session import Session

_UNSEEN_SECONDS: Final = 0.3
"""Scans that end sooner show no progress, which would only flicker."""
_REPORT_SECONDS: Final = 0.2


class Scan:
    """One scan at a time: a new one takes the place of one that still runs."""

    def __init__(self, session: Session) -> None:
        self._session: Final = session
        self._running: asyncio.Task[None] | None = None
        self._touched: set[str] = set()

    def start(self) -> asyncio.Task[None]:
        """Begin to read all folders anew."""
        if self._running is not None:
            self._running.cancel()
        self._touched.clear()
        names: dict[str, tuple[str, ...]] = {}
        self._running = self._session.start(self._scan(names), "the scan of the workspace")
        if self._session.flags.work_done_progress:
            self._session.start(self._show(self._running, names), "the progress of the scan")
        return self._running

    def touched(self, path: str) -> None:
        """Take note that a file has changed: a scan that runs may have read it before."""
        if self._running is not None:
            self._touched.add(path)

    async def finished(self) -> None:
        """Wait until no scan runs."""
        while (running := self._running) is not None:
            await asyncio.wait([running])

    async def _scan(self, names: dict[str, tuple[str, ...]]) -> None:
        try:
            slices = Slices()
            for _ in scanned(self._session.snapshot.roots, names):
                await slices.pause()
            workspace = self._session.workspace
            workspace.take_scan(names)
            for path in self._touched:
                workspace.file_changed(path)
            self._session.everything_changed()
            calls: dict[str, tuple[TemplateCall, ...]] = {}
            for _ in scanned_calls(self._session.snapshot.roots, calls):
                await slices.pause()
            if calls or workspace.snapshot.calls:
                workspace.take_calls(calls)
                self._session.everything_changed()
            written: dict[str, PythonFindings] = {}
            for _ in scanned_experiments(self._session.snapshot.roots, written):
                await slices.pause()
            if written or workspace.snapshot.written:
                workspace.take_written(written)
                self._session.runs.look_again(list(self._session.snapshot.open_files))
        finally:
            if self._running is asyncio.current_task():
                self._running = None

    async def _show(self, scan: asyncio.Task[None], names: dict[str, tuple[str, ...]]) -> None:
        """Show how far the scan is, once it takes long enough to be worth it."""
        await asyncio.wait([scan], timeout=_UNSEEN_SECONDS)
        if scan.done():
            return
        async with progress(self._session, None, "Reading prompt files", cancellable=False) as shown:
            while not scan.done():
                shown.report(f"{len(names):,} files")
                await asyncio.wait([scan], timeout=_REPORT_SECONDS)
