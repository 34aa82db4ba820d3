"""Renames, definitions and references that begin outside of prompts, in clients that can be asked for it.

Programs, files of data and settings hold names that prompts know too. Their texts are sent along, so that
unsaved ones count. Whatever else a client does with such a file is left to the servers of its language, and
so is each name that is no prompt's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lsprotocol import types

from promptls.protocol.registrations.register import files_like, register_documents
from promptls.workspace.project_settings import PYPROJECT_FILE, SETTINGS_FILE

if TYPE_CHECKING:
    from promptls.protocol.session import Session

_DATA: Final = ("csv", "jsonl", "ndjson", "json", "yml", "yaml")


async def register(session: Session) -> None:
    """Ask the client for the texts, and to ask about names in them, where it can be asked."""
    if not session.flags.registers_shared_names:
        return
    programs = files_like("*.py")
    data = files_like(*(f"*.{ending}" for ending in _DATA))
    settings = files_like(SETTINGS_FILE, PYPROJECT_FILE)
    texts, every = [*programs, *data], [*programs, *data, *settings]
    plain = types.TextDocumentRegistrationOptions(texts)
    changes = types.TextDocumentChangeRegistrationOptions(types.TextDocumentSyncKind.Incremental, texts)
    # A client asks for highlights with each step of the cursor: in programs others give them.
    highlights = types.DocumentHighlightRegistrationOptions([*data, *settings])
    asked = (
        (types.TEXT_DOCUMENT_DID_OPEN, plain),
        (types.TEXT_DOCUMENT_DID_CHANGE, changes),
        (types.TEXT_DOCUMENT_DID_CLOSE, plain),
        (types.TEXT_DOCUMENT_DEFINITION, types.DefinitionRegistrationOptions(every)),
        (types.TEXT_DOCUMENT_REFERENCES, types.ReferenceRegistrationOptions(every)),
        (types.TEXT_DOCUMENT_RENAME, types.RenameRegistrationOptions(every, prepare_provider=True)),
        (types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT, highlights),
    )
    await register_documents(session, "names", asked)
