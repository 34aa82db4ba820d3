"""Settings files as documents, in clients that can be asked to send them.

Only their completion and hover are asked for: whatever else a client does with such a file is
left to the servers of its language.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lsprotocol import types

from promptls.protocol.registrations.register import files_like, register_documents
from promptls.workspace.project_settings import PYPROJECT_FILE, SETTINGS_FILE

if TYPE_CHECKING:
    from promptls.protocol.session import Session

_TRIGGERS: Final = ['"', "'", ".", "["]


async def register(session: Session) -> None:
    """Ask the client for the texts of settings files, where it can be asked."""
    if not session.flags.registers_documents:
        return
    selector = files_like(SETTINGS_FILE, PYPROJECT_FILE)
    changes = types.TextDocumentChangeRegistrationOptions(types.TextDocumentSyncKind.Incremental, selector)
    completion = types.CompletionRegistrationOptions(
        document_selector=selector,
        trigger_characters=_TRIGGERS,
        resolve_provider=True,
        completion_item=types.ServerCompletionItemOptions(label_details_support=True),
    )
    plain = types.TextDocumentRegistrationOptions(selector)
    asked = (
        (types.TEXT_DOCUMENT_DID_OPEN, plain),
        (types.TEXT_DOCUMENT_DID_CHANGE, changes),
        (types.TEXT_DOCUMENT_DID_CLOSE, plain),
        (types.TEXT_DOCUMENT_COMPLETION, completion),
        (types.TEXT_DOCUMENT_HOVER, types.HoverRegistrationOptions(document_selector=selector)),
    )
    await register_documents(session, "settings", asked)
