"""Which function answers which method, with the options that the client is told of.

`METHODS` get lsprotocol's types; `JSON_METHODS`, which make up a keystroke, get plain JSON.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types

from promptls.protocol import configuration, documents, lifecycle
from promptls.protocol.requests import diagnostic

if TYPE_CHECKING:
    from promptls.protocol.dispatch import Handler
    from promptls.protocol.session import Session


@dataclass(frozen=True, slots=True)
class Method:
    """One row: the method, its handler, and what makes its options, fresh for each server."""

    name: str
    handler: Handler
    options: Callable[[], Any] | None = None


METHODS: Final = (
    Method(types.INITIALIZE, lifecycle.initialize),
    Method(types.INITIALIZED, lifecycle.initialized),
    Method(types.SHUTDOWN, lifecycle.shutdown),
    Method(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS, lifecycle.did_change_workspace_folders),
    Method(types.WORKSPACE_DID_CHANGE_CONFIGURATION, configuration.did_change_configuration),
    Method(types.WORKSPACE_DID_CHANGE_WATCHED_FILES, documents.did_change_watched_files),
    Method(types.TEXT_DOCUMENT_DID_OPEN, documents.did_open),
    Method(types.TEXT_DOCUMENT_DID_SAVE, documents.did_save),
    Method(types.TEXT_DOCUMENT_DID_CLOSE, documents.did_close),
)

JSON_METHODS: Final[tuple[tuple[str, Callable[[Session, dict[str, Any]], Any], Any], ...]] = (
    (types.TEXT_DOCUMENT_DID_CHANGE, documents.did_change, None),
    (
        types.TEXT_DOCUMENT_DIAGNOSTIC,
        diagnostic.diagnostic,
        lambda: types.DiagnosticOptions(inter_file_dependencies=True, workspace_diagnostics=False),
    ),
)
