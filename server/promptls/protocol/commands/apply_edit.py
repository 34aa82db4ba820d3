"""`promptls.applyEdit`: what a code action changes, for clients that take commands and no code actions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsprotocol import types
from lsprotocol.converters import get_converter

from promptls.protocol.convert import path_of
from promptls.text.arguments import optional
from promptls.text.failure import WrongUse

if TYPE_CHECKING:
    from promptls.protocol.session import Session


async def apply_edit(
    session: Session, arguments: dict[str, Any], _token: types.ProgressToken | None
) -> dict[str, Any]:
    """Whether the client has made the edits; raises `WrongUse` where they are for a former text."""
    uri, edit = optional(arguments, "uri", str), optional(arguments, "edit", dict)
    if uri is None or edit is None:
        raise WrongUse("the arguments `uri` and `edit` say what is to be changed")
    path = path_of(uri)
    opened = session.snapshot.open_files.get(path)
    if (opened.version if opened is not None else None) != arguments.get("version"):
        raise WrongUse(
            "the file has changed since the action was offered", remedy="ask for the actions again"
        )
    changes = get_converter().structure(edit, types.WorkspaceEdit)
    label = optional(arguments, "label", str)
    answer = await session.server.workspace_apply_edit_async(types.ApplyWorkspaceEditParams(changes, label))
    return {"applied": answer.applied, "message": answer.failure_reason or ""}
