"""The files outside the editor whose changes matter, watched by a client that can."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lsprotocol import types

from promptls.workspace.project_settings import PYPROJECT_FILE, SETTINGS_FILE

if TYPE_CHECKING:
    from promptls.protocol.session import Session

GLOBS: Final = (
    "**/*.{yml,yaml}.j2",
    f"**/{SETTINGS_FILE}",
    f"**/{PYPROJECT_FILE}",
    "**/*.{csv,jsonl,json,parquet,yml,yaml,py}",
    "**/*.{j2,jinja,jinja2,txt,md}",
)
"""Prompt files, settings, data sets with results, samples, functions and metrics, and what is included."""


async def register(session: Session) -> None:
    """Ask the client to watch, and to say when settings change, where it can be asked."""
    if session.flags.watches_files:
        watchers = [types.FileSystemWatcher(glob_pattern=glob) for glob in GLOBS]
        options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
        registration = types.Registration("promptls.files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
        await session.server.client_register_capability_async(types.RegistrationParams([registration]))
    if session.flags.registers_configuration:
        registration = types.Registration(
            "promptls.settings",
            types.WORKSPACE_DID_CHANGE_CONFIGURATION,
            types.DidChangeConfigurationRegistrationOptions(section="promptls"),
        )
        await session.server.client_register_capability_async(types.RegistrationParams([registration]))
