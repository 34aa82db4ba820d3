"""`textDocument/documentHighlight`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types

from promptls.features.highlights import highlights
from promptls.protocol.answers.locations import asked_in_json, json_range_in

if TYPE_CHECKING:
    from promptls.protocol.session import Session

_KINDS: Final = {
    "text": types.DocumentHighlightKind.Text.value,
    "read": types.DocumentHighlightKind.Read.value,
    "write": types.DocumentHighlightKind.Write.value,
}


def document_highlight(session: Session, params: dict[str, Any]) -> list[dict[str, Any]] | None:
    """The places of the document that are of the same thing as that at the position."""
    asked = asked_in_json(session, params)
    if asked is None:
        return None
    return [
        {"range": json_range_in(session, asked[0], each.span), "kind": _KINDS[each.kind]}
        for each in highlights(session.snapshot, *asked)
    ]
