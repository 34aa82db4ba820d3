"""`textDocument/definition` and `textDocument/declaration`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from lsprotocol import types

from promptls.features.definition import Target, declaration_steps, definition_steps
from promptls.protocol.answers.locations import asked_of_symbol, location, range_in
from promptls.protocol.client.progress import in_slices

if TYPE_CHECKING:
    from promptls.protocol.answers.locations import AsksAboutPlace
    from promptls.protocol.session import Session
    from promptls.text.steps import Steps
    from promptls.workspace.snapshot import Snapshot

Answer = list[types.Location] | list[types.LocationLink] | None


async def definition(session: Session, params: types.DefinitionParams) -> Answer:
    """Where the symbol at the position gets what it is; as links for a client that takes them."""
    return await _found(session, params, definition_steps, session.flags.definition_links)


async def declaration(session: Session, params: types.DeclarationParams) -> Answer:
    """Where it is said that there is the symbol at the position."""
    return await _found(session, params, declaration_steps, session.flags.declaration_links)


async def _found(
    session: Session,
    params: AsksAboutPlace,
    steps_from: Callable[[Snapshot, str, int], Steps[tuple[Target, ...]]],
    links: bool,
) -> Answer:
    asked = asked_of_symbol(session, params)
    if asked is None:
        return None
    path = asked[0]
    targets = await in_slices(session, steps_from(session.snapshot, *asked))
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
