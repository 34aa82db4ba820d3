"""`textDocument/references`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from promptls.features.symbols import occurrences, symbol_at
from promptls.protocol.locations import asked_place, location

if TYPE_CHECKING:
    from promptls.protocol.session import Session


def references(session: Session, params: types.ReferenceParams) -> list[types.Location] | None:
    """Every place of the symbol at the position; without its declarations where they are not wanted."""
    asked = asked_place(session, params)
    symbol = symbol_at(session.snapshot, *asked) if asked is not None else None
    if symbol is None:
        return None
    return [
        location(session, each.path, each.span)
        for each in occurrences(session.snapshot, symbol)
        if params.context.include_declaration or each.use != "declaration"
    ]
