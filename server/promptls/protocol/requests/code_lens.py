"""`textDocument/codeLens`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from promptls.features.code_lenses import code_lenses
from promptls.protocol.convert import to_position

if TYPE_CHECKING:
    from promptls.protocol.session import Session


def code_lens(session: Session, params: types.CodeLensParams) -> list[types.CodeLens] | None:
    """What can be done with the document and its examples, with what came of it, each above its line."""
    uri = params.text_document.uri
    path = session.prompt_path(uri)
    template = session.snapshot.template(path) if path is not None else None
    if path is None or template is None:
        return None
    found = []
    for lens in code_lenses(session.snapshot, path, session.runs.current(path), session.runs.running(path)):
        place = to_position(template.source, lens.offset, session.unit)
        action = lens.action
        command = types.Command(
            action.title,
            action.command,
            tooltip=action.tooltip or None,
            arguments=[{"uri": uri, **action.arguments}],
        )
        found.append(types.CodeLens(range=types.Range(place, place), command=command))
    return found
