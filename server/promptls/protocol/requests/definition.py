"""`textDocument/definition`: the file that an include leads to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from promptls.features.document_links import link_at
from promptls.protocol.convert import from_position

if TYPE_CHECKING:
    from promptls.protocol.session import Session


def definition(session: Session, params: types.DefinitionParams) -> types.Location | None:
    """The beginning of the file that is named at the position."""
    path = session.prompt_path(params.text_document.uri)
    template = session.snapshot.template(path) if path else None
    if path is None or template is None:
        return None
    link = link_at(session.snapshot, path, from_position(template.source, params.position, session.unit))
    top = types.Range(types.Position(0, 0), types.Position(0, 0))
    return types.Location(session.uri_of(link.target), top) if link else None
