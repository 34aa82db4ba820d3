"""`workspace/symbol` and `workspaceSymbol/resolve`."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types

from promptls.features.workspace_symbols import match
from promptls.protocol.client.progress import progress, send_part
from promptls.protocol.convert import path_of
from promptls.protocol.kept.symbol_index import PlacedThing
from promptls.protocol.slices import Slices

if TYPE_CHECKING:
    from promptls.protocol.session import Session

_MOST: Final = 2000
"""How many symbols are answered at once; the best of them."""
_BATCH: Final = 200
"""How many symbols are sent at a time to a client that takes partial results."""
_KINDS: Final = {
    "file": types.SymbolKind.File,
    "part": types.SymbolKind.Object,
    "section": types.SymbolKind.String,
    "macro": types.SymbolKind.Function,
    "block": types.SymbolKind.Namespace,
    "input": types.SymbolKind.Field,
}

Json = dict[str, Any]


async def workspace_symbol(
    session: Session, params: types.WorkspaceSymbolParams
) -> list[types.WorkspaceSymbol] | list[types.SymbolInformation]:
    """What has a name like the one that is typed, the best first; in parts for a client that takes them."""
    await session.scan.finished()
    token = params.partial_result_token
    found: list[tuple[int, str, PlacedThing]] = []
    slices = Slices()
    async with AsyncExitStack() as stack:
        shown = None
        if params.work_done_token is not None:
            shown = await stack.enter_async_context(
                progress(session, params.work_done_token, "Looking for names")
            )
        paths = session.symbol_index.paths()
        for index, path in enumerate(paths):
            await slices.pause()
            for placed in session.symbol_index.of_file(path):
                score = match(params.query, placed.thing.name)
                if score is not None:
                    found.append((score, path, placed))
            if token is not None and len(found) >= _BATCH:
                send_part(session, token, [_json(session, path, placed) for _, path, placed in found])
                found = []
            if shown is not None and index % _BATCH == 0:
                shown.report(f"{index + 1:,} of {len(paths):,} files", 100 * (index + 1) // len(paths))
    if token is not None:
        send_part(session, token, [_json(session, path, placed) for _, path, placed in found])
        return []
    best = sorted(found, key=lambda each: (-each[0], each[2].thing.name, each[1]))[:_MOST]
    if session.flags.resolves_symbols:
        return [_symbol(session, path, placed) for _, path, placed in best]
    return [_information(session, path, placed) for _, path, placed in best]


def resolve(session: Session, symbol: types.WorkspaceSymbol) -> types.WorkspaceSymbol:
    """The symbol with its place, as the text is now."""
    data = symbol.data if isinstance(symbol.data, dict) else {}
    path = path_of(symbol.location.uri)
    line = data.get("line", 0)
    alike = [
        placed.place
        for placed in session.symbol_index.of_file(path)
        if (placed.thing.name, placed.thing.kind) == (symbol.name, data.get("kind"))
    ]
    top = types.Range(types.Position(0, 0), types.Position(0, 0))
    place = min(alike, key=lambda each: abs(each.start.line - line), default=top)
    symbol.location = types.Location(symbol.location.uri, place)
    return symbol


def _kind(session: Session, placed: PlacedThing) -> types.SymbolKind:
    kind = _KINDS[placed.thing.kind]
    # Clients that list no kinds know those of the protocol's first version.
    is_newer = kind.value > types.SymbolKind.Array.value
    return types.SymbolKind.Class if is_newer and not session.flags.newer_symbol_kinds else kind


def _symbol(session: Session, path: str, placed: PlacedThing) -> types.WorkspaceSymbol:
    thing = placed.thing
    return types.WorkspaceSymbol(
        types.LocationUriOnly(session.uri_of(path)),
        thing.name,
        _kind(session, placed),
        data={"kind": thing.kind, "line": placed.place.start.line},
        container_name=thing.container or None,
    )


def _information(session: Session, path: str, placed: PlacedThing) -> types.SymbolInformation:
    place = types.Location(session.uri_of(path), placed.place)
    thing = placed.thing
    return types.SymbolInformation(
        place, thing.name, _kind(session, placed), container_name=thing.container or None
    )


def _json(session: Session, path: str, placed: PlacedThing) -> Json:
    start, end = placed.place.start, placed.place.end
    made: Json = {
        "name": placed.thing.name,
        "kind": _kind(session, placed).value,
        "location": {
            "uri": session.uri_of(path),
            "range": {
                "start": {"line": start.line, "character": start.character},
                "end": {"line": end.line, "character": end.character},
            },
        },
    }
    if placed.thing.container:
        made["containerName"] = placed.thing.container
    return made
