"""`textDocument/references`: file by file, with progress, in parts for a client that takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsprotocol import types

from promptls.features.symbols import occurrence_steps, symbol_at
from promptls.protocol.locations import asked_place, json_range_in
from promptls.protocol.progress import in_slices
from promptls.protocol.slices import Slices

if TYPE_CHECKING:
    from promptls.protocol.session import Session


async def references(session: Session, params: types.ReferenceParams) -> list[dict[str, Any]] | None:
    """Every place of the symbol at the position; without its declarations where they are not wanted."""
    asked = asked_place(session, params)
    await session.scan.finished()
    snapshot = session.snapshot
    symbol = symbol_at(snapshot, *asked) if asked is not None else None
    if symbol is None:
        return None
    steps = occurrence_steps(snapshot, symbol)
    found = await in_slices(session, steps, params.work_done_token, f"Looking for `{symbol.name}`")
    answer = []
    slices = Slices()
    for each in found:
        await slices.pause()
        if params.context.include_declaration or each.use != "declaration":
            place = json_range_in(session, each.path, each.span)
            answer.append({"uri": session.uri_of(each.path), "range": place})
    return answer
