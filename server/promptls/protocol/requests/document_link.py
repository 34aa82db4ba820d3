"""`textDocument/documentLink`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from promptls.features.document_links import document_links
from promptls.protocol.convert import to_range

if TYPE_CHECKING:
    from promptls.protocol.session import Session


def document_link(session: Session, params: types.DocumentLinkParams) -> list[types.DocumentLink] | None:
    """The files that the document names."""
    path = session.prompt_path(params.text_document.uri)
    template = session.snapshot.template(path) if path else None
    if path is None or template is None:
        return None
    return [
        types.DocumentLink(
            to_range(template.source, link.span, session.unit),
            session.uri_of(link.target),
            link.tooltip if session.flags.link_tooltips else None,
        )
        for link in document_links(session.snapshot, path)
    ]
