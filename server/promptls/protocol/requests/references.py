"""`textDocument/references`: file by file, with progress, in parts for a client that takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types

from promptls.features.symbols import Occurrence, occurrence_steps, symbol_at
from promptls.protocol.answers.locations import asked_of_symbol, json_range_in
from promptls.protocol.client.progress import in_slices, send_part
from promptls.protocol.slices import Slices

if TYPE_CHECKING:
    from promptls.protocol.session import Session

_BATCH: Final = 100
"""How many places are sent at a time to a client that takes partial results."""


async def references(session: Session, params: types.ReferenceParams) -> list[dict[str, Any]] | None:
    """Every place of the symbol at the position; without its declarations where they are not wanted."""
    asked = asked_of_symbol(session, params)
    await session.scan.finished()
    snapshot = session.snapshot
    symbol = symbol_at(snapshot, *asked) if asked is not None else None
    if symbol is None:
        return None
    token = params.partial_result_token
    waiting: list[dict[str, Any]] = []

    def add(found: tuple[Occurrence, ...]) -> None:
        for each in found:
            if params.context.include_declaration or each.use != "declaration":
                place = json_range_in(session, each.path, each.span)
                waiting.append({"uri": session.uri_of(each.path), "range": place})
        while token is not None and len(waiting) >= _BATCH:
            send_part(session, token, waiting[:_BATCH])
            del waiting[:_BATCH]

    steps = occurrence_steps(snapshot, symbol, tell=add if token is not None else None)
    found = await in_slices(session, steps, params.work_done_token, f"Looking for `{symbol.name}`")
    if token is not None:
        send_part(session, token, waiting)
        return []
    slices = Slices()
    for each in found:
        await slices.pause()
        add((each,))
    return waiting
