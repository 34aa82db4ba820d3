"""The beginning and the end of a session."""

from __future__ import annotations

import asyncio
import logging
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types

from promptls.protocol import configuration, watched_files
from promptls.protocol.convert import path_of
from promptls.workspace.workspace import scanned

if TYPE_CHECKING:
    from promptls.protocol.session import Session

log = logging.getLogger(__name__)

_SETTINGS_SECONDS: Final = 2.0
"""How long messages are held for a client that does not answer the question for its settings."""
_SCAN_SECONDS: Final = 0.3
"""How long messages are held for the first look at the workspace's files."""

_SLICE_SECONDS: Final = 0.004
"""How long the scan keeps other messages waiting at a time."""


def initialized(session: Session, _params: types.InitializedParams) -> None:
    """Answer nothing more until the settings are there, and it is known which files include which."""
    session.server.protocol.hold()
    session.start(_prepare(session), "the beginning of the session")


async def _prepare(session: Session) -> None:
    try:
        scan = session.start(scan_workspace(session), "the scan of the workspace")
        await asyncio.wait(
            [session.start(configuration.fetch(session), "the settings")], timeout=_SETTINGS_SECONDS
        )
        await asyncio.wait([scan], timeout=_SCAN_SECONDS)
    finally:
        session.server.protocol.release()
    session.start(watched_files.register(session), "the registration of watched files")


async def scan_workspace(session: Session) -> None:
    """Read which files include which, a few at a time, and look at everything again with it.

    A thread would be slower: it and the requests would wait for one another at every step.
    """
    roots = session.snapshot.roots
    names: dict[str, tuple[str, ...]] = {}
    begun = time.perf_counter()
    for _ in scanned(roots, names):
        if time.perf_counter() - begun > _SLICE_SECONDS:
            await asyncio.sleep(0)
            begun = time.perf_counter()
    if roots and session.snapshot.roots == roots:
        session.workspace.take_scan(names)
        session.everything_changed()


def did_change_workspace_folders(session: Session, params: types.DidChangeWorkspaceFoldersParams) -> None:
    """Take the folders that the client has open now."""
    gone = {path_of(folder.uri) for folder in params.event.removed}
    kept = [root for root in session.snapshot.roots if root not in gone]
    added = [path_of(folder.uri) for folder in params.event.added]
    session.workspace.set_roots(map(Path, dict.fromkeys([*kept, *added])))
    session.start(scan_workspace(session), "the scan of the workspace")


async def shutdown(session: Session, _params: Any = None) -> None:
    """End what goes on, and the processes that belong to the session."""
    await session.close()
