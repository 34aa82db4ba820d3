"""`textDocument/codeLens`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from promptls.features.code_lenses import code_lenses

if TYPE_CHECKING:
    from promptls.protocol.session import Session


def code_lens(session: Session, params: types.CodeLensParams) -> list[types.CodeLens] | None:
    """What can be done with the document, and its last scores, above its first line."""
    uri = params.text_document.uri
    path = session.prompt_path(uri)
    if path is None:
        return None
    top = types.Range(types.Position(0, 0), types.Position(0, 0))
    return [
        types.CodeLens(
            range=top,
            command=types.Command(action.title, action.command, arguments=[{"uri": uri, **action.arguments}]),
        )
        for action in code_lenses(session.snapshot, path, session.runs.current(path))
    ]
