"""`textDocument/references`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptls.features.symbols import occurrences, symbol_at
from promptls.protocol.locations import asked_in_json, json_range_in

if TYPE_CHECKING:
    from promptls.protocol.session import Session


def references(session: Session, params: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Every place of the symbol at the position; without its declarations where they are not wanted."""
    asked = asked_in_json(session, params)
    symbol = symbol_at(session.snapshot, *asked) if asked is not None else None
    if symbol is None:
        return None
    with_declarations = params.get("context", {}).get("includeDeclaration", True)
    return [
        {"uri": session.uri_of(each.path), "range": json_range_in(session, each.path, each.span)}
        for each in occurrences(session.snapshot, symbol)
        if with_declarations or each.use != "declaration"
    ]
