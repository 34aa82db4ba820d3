"""`textDocument/definition` and `textDocument/declaration`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from promptls.features.definition import Target, declaration_steps, definition_steps
from promptls.protocol.answers.locations import asked_of_symbol, location, range_in
from promptls.protocol.client.progress import in_slices

if TYPE_CHECKING:
    from promptls.protocol.session import Session

Answer = list[types.Location] | list[types.LocationLink] | None


async def definition(session: Session, params: types.DefinitionParams) -> Answer:
    """Where the symbol at the position gets what it is; as links for a client that takes them."""
    asked = asked_of_symbol(session, params)
    if asked is None:
        return None
    found = await in_slices(session, definition_steps(session.snapshot, *asked))
    return _answer(session, asked[0], found, session.flags.definition_links)


async def declaration(session: Session, params: types.DeclarationParams) -> Answer:
    """Where it is said that there is the symbol at the position."""
    asked = asked_of_symbol(session, params)
    if asked is None:
        return None
    found = await in_slices(session, declaration_steps(session.snapshot, *asked))
    return _answer(session, asked[0], found, session.flags.declaration_links)


def _answer(session: Session, path: str, targets: tuple[Target, ...], links: bool) -> Answer:
    if not links:
        return [location(session, target.path, target.span) for target in targets]
    return [
        types.LocationLink(
            session.uri_of(target.path),
            (place := range_in(session, target.path, target.span)),
            place,
            range_in(session, path, target.origin),
        )
        for target in targets
    ]
