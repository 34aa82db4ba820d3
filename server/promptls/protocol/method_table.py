"""Which function answers which method, with the options that the client is told of.

Handlers are named and not imported: `initialize` is answered before anything is loaded that
the answer does not need. `isolated` gets lsprotocol's types and may be asynchronous; `plain`,
which makes up a keystroke, gets plain JSON.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

from lsprotocol import types


@dataclass(frozen=True, slots=True)
class Method:
    """One row: the method, its handler in this package, and what makes its options, fresh for each server."""

    name: str
    handler: str
    options: Callable[[], Any] | None = None
    form: Literal["typed", "typed, later", "json"] = "typed"
    """What the handler gets, and whether it is asynchronous."""


METHODS: Final = (
    Method(types.INITIALIZED, "lifecycle:initialized"),
    Method(types.SHUTDOWN, "lifecycle:shutdown", form="typed, later"),
    Method(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS, "lifecycle:did_change_workspace_folders"),
    Method(
        types.WORKSPACE_DID_CHANGE_CONFIGURATION,
        "configuration:did_change_configuration",
        form="typed, later",
    ),
    Method(types.WORKSPACE_DID_CHANGE_WATCHED_FILES, "documents:did_change_watched_files"),
    Method(types.TEXT_DOCUMENT_DID_OPEN, "documents:did_open"),
    Method(types.TEXT_DOCUMENT_DID_CHANGE, "documents:did_change", form="json"),
    Method(types.TEXT_DOCUMENT_DID_SAVE, "documents:did_save"),
    Method(types.TEXT_DOCUMENT_DID_CLOSE, "documents:did_close"),
    Method(
        types.TEXT_DOCUMENT_DIAGNOSTIC,
        "requests.diagnostic:diagnostic",
        lambda: types.DiagnosticOptions(inter_file_dependencies=True, workspace_diagnostics=False),
        form="json",
    ),
)
