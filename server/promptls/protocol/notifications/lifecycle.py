"""The beginning and the end of a session."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types

from promptls.protocol.convert import path_of
from promptls.protocol.notifications import configuration
from promptls.protocol.preloading import preload
from promptls.protocol.registrations import dataset_documents, settings_documents, shared_names, watched_files

if TYPE_CHECKING:
    from promptls.protocol.session import Session

log = logging.getLogger(__name__)

_SETTINGS_SECONDS: Final = 2.0
"""How long messages are held for a client that does not answer the question for its settings."""
_SCAN_SECONDS: Final = 0.3
"""How long messages are held for the first look at the workspace's files."""


def initialized(session: Session, _params: types.InitializedParams) -> None:
    """Answer nothing more until the settings are there, and it is known which files include which."""
    session.server.protocol.hold()
    session.start(_prepare(session), "the beginning of the session")
    session.start(preload(), "loading what requests will need")


async def _prepare(session: Session) -> None:
    try:
        scan = session.scan.start()
        await asyncio.wait(
            [session.start(configuration.fetch(session), "the settings")], timeout=_SETTINGS_SECONDS
        )
        await asyncio.wait([scan], timeout=_SCAN_SECONDS)
    finally:
        session.server.protocol.release()
    session.start(watched_files.register(session), "the registration of watched files")
    session.start(settings_documents.register(session), "the registration of settings files")
    session.start(dataset_documents.register(session), "the registration of data sets")
    session.start(shared_names.register(session), "the registration of files that share names")


def did_change_workspace_folders(session: Session, params: types.DidChangeWorkspaceFoldersParams) -> None:
    """Take the folders that the client has open now."""
    gone = {path_of(folder.uri) for folder in params.event.removed}
    kept = [root for root in session.snapshot.roots if root not in gone]
    added = [path_of(folder.uri) for folder in params.event.added]
    session.workspace.set_roots(map(Path, dict.fromkeys([*kept, *added])))
    session.scan.start()


async def shutdown(session: Session, _params: Any = None) -> None:
    """End what goes on, and the processes that belong to the session."""
    await session.close()
