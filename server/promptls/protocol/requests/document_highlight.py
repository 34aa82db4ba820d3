"""`textDocument/documentHighlight`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lsprotocol import types

from promptls.features.highlights import highlights
from promptls.protocol.locations import asked_place, range_in

if TYPE_CHECKING:
    from promptls.protocol.session import Session

_KINDS: Final = {
    "text": types.DocumentHighlightKind.Text,
    "read": types.DocumentHighlightKind.Read,
    "write": types.DocumentHighlightKind.Write,
}


def document_highlight(
    session: Session, params: types.DocumentHighlightParams
) -> list[types.DocumentHighlight] | None:
    """The places of the document that are of the same thing as that at the position."""
    asked = asked_place(session, params)
    if asked is None:
        return None
    return [
        types.DocumentHighlight(range_in(session, asked[0], each.span), _KINDS[each.kind])
        for each in highlights(session.snapshot, *asked)
    ]
