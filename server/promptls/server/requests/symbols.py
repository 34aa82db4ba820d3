"""The outline of a document, symbols of the workspace, and the call hierarchy."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types

from promptls.ide.call_hierarchy import CallItem, call_item, file_item, incoming, macro_named, outgoing
from promptls.ide.document_symbols import DocumentSymbol, document_symbols, match
from promptls.server.locations import range_in, requested_place
from promptls.server.progress import Slices, progress, send_part
from promptls.server.to_proto import path_of, range_json
from promptls.text.positions import Span

if TYPE_CHECKING:
    from promptls.server.context import Context
    from promptls.server.state.scan import PlacedThing, SymbolIndex
    from promptls.syntax.source import Source


_OUTLINE_KINDS: Final = {
    "header": types.SymbolKind.Module,
    "part": types.SymbolKind.Object,
    "section": types.SymbolKind.String,
    "macro": types.SymbolKind.Function,
    "block": types.SymbolKind.Namespace,
    "variable": types.SymbolKind.Variable,
    "input": types.SymbolKind.Field,
    "key": types.SymbolKind.Property,
    "example": types.SymbolKind.Array,
}


def document_symbol(context: Context, params: types.DocumentSymbolParams) -> list[dict[str, Any]] | None:
    """Return the outline of the document: as a tree, or flat if the client supports no tree."""
    uri = params.text_document.uri
    path = context.prompt_path(uri)
    template = context.snapshot.template(path) if path is not None else None
    if path is None or template is None:
        return None
    found = document_symbols(context.snapshot, path)
    if context.capabilities.symbol_tree:
        return [_tree(context, template.source, symbol) for symbol in found]
    return [flat for symbol in found for flat in _flat(context, uri, template.source, symbol, None)]


def _tree(context: Context, source: Source, symbol: DocumentSymbol) -> dict[str, Any]:
    # The protocol requires the range of the name inside the full range, which broken text may violate.
    name_span = Span(
        min(max(symbol.name_span.start, symbol.span.start), symbol.span.end),
        min(max(symbol.name_span.end, symbol.span.start), symbol.span.end),
    )
    made: dict[str, Any] = {
        "name": symbol.name or "?",
        "kind": _outline_kind(context, symbol),
        "range": range_json(source, symbol.span, context.encoding),
        "selectionRange": range_json(source, name_span, context.encoding),
    }
    if symbol.detail:
        made["detail"] = symbol.detail
    if symbol.children:
        made["children"] = [_tree(context, source, child) for child in symbol.children]
    return made


def _outline_kind(context: Context, symbol: DocumentSymbol) -> int:
    kind = _OUTLINE_KINDS[symbol.kind]
    # Clients that list no kinds know those of the protocol's first version.
    is_newer = kind.value > types.SymbolKind.Array.value
    return (
        types.SymbolKind.Class if is_newer and not context.capabilities.newer_outline_kinds else kind
    ).value


def _flat(
    context: Context, uri: str, source: Source, symbol: DocumentSymbol, container: str | None
) -> list[dict[str, Any]]:
    own: dict[str, Any] = {
        "name": symbol.name or "?",
        "kind": _outline_kind(context, symbol),
        "location": {"uri": uri, "range": range_json(source, symbol.span, context.encoding)},
    }
    if container is not None:
        own["containerName"] = container
    below = (_flat(context, uri, source, child, symbol.name) for child in symbol.children)
    return [own, *(each for found in below for each in found)]


_MAX_SYMBOLS: Final = 2000
"""The maximum number of symbols returned."""
_SYMBOLS_PER_PART: Final = 200
"""The number of symbols per partial result."""
_WORKSPACE_KINDS: Final = {
    "file": types.SymbolKind.File,
    "part": types.SymbolKind.Object,
    "section": types.SymbolKind.String,
    "macro": types.SymbolKind.Function,
    "block": types.SymbolKind.Namespace,
    "input": types.SymbolKind.Field,
}

Json = dict[str, Any]


async def workspace_symbol(
    context: Context, symbol_index: SymbolIndex, params: types.WorkspaceSymbolParams
) -> list[types.WorkspaceSymbol] | list[types.SymbolInformation]:
    """Return the symbols that match the query, best match first; in parts if the client supports that."""
    token = params.partial_result_token
    found: list[tuple[int, str, PlacedThing]] = []
    slices = Slices()
    async with AsyncExitStack() as stack:
        shown = None
        if params.work_done_token is not None:
            shown = await stack.enter_async_context(
                progress(context, params.work_done_token, "Looking for names")
            )
        paths = symbol_index.paths()
        for index, path in enumerate(paths):
            await slices.pause()
            for placed in symbol_index.of_file(path):
                score = match(params.query, placed.thing.name)
                if score is not None:
                    found.append((score, path, placed))
            if token is not None and len(found) >= _SYMBOLS_PER_PART:
                send_part(context, token, [_symbol_json(context, path, placed) for _, path, placed in found])
                found = []
            if shown is not None and index % _SYMBOLS_PER_PART == 0:
                shown.report(f"{index + 1:,} of {len(paths):,} files", 100 * (index + 1) // len(paths))
    if token is not None:
        send_part(context, token, [_symbol_json(context, path, placed) for _, path, placed in found])
        return []
    best = sorted(found, key=lambda each: (-each[0], each[2].thing.name, each[1]))[:_MAX_SYMBOLS]
    if context.capabilities.resolves_symbols:
        return [_symbol(context, path, placed) for _, path, placed in best]
    return [_information(context, path, placed) for _, path, placed in best]


def resolve_symbol(symbol_index: SymbolIndex, symbol: types.WorkspaceSymbol) -> types.WorkspaceSymbol:
    """Return the symbol with its location in the current text."""
    data = symbol.data if isinstance(symbol.data, dict) else {}
    path = path_of(symbol.location.uri)
    line = data.get("line", 0)
    alike = [
        placed.place
        for placed in symbol_index.of_file(path)
        if (placed.thing.name, placed.thing.kind) == (symbol.name, data.get("kind"))
    ]
    top = types.Range(types.Position(0, 0), types.Position(0, 0))
    place = min(alike, key=lambda each: abs(each.start.line - line), default=top)
    symbol.location = types.Location(symbol.location.uri, place)
    return symbol


def _workspace_kind(context: Context, placed: PlacedThing) -> types.SymbolKind:
    kind = _WORKSPACE_KINDS[placed.thing.kind]
    # Clients that list no kinds know those of the protocol's first version.
    is_newer = kind.value > types.SymbolKind.Array.value
    return types.SymbolKind.Class if is_newer and not context.capabilities.newer_symbol_kinds else kind


def _symbol(context: Context, path: str, placed: PlacedThing) -> types.WorkspaceSymbol:
    thing = placed.thing
    return types.WorkspaceSymbol(
        types.LocationUriOnly(context.uri_of(path)),
        thing.name,
        _workspace_kind(context, placed),
        data={"kind": thing.kind, "line": placed.place.start.line},
        container_name=thing.container or None,
    )


def _information(context: Context, path: str, placed: PlacedThing) -> types.SymbolInformation:
    place = types.Location(context.uri_of(path), placed.place)
    thing = placed.thing
    return types.SymbolInformation(
        place, thing.name, _workspace_kind(context, placed), container_name=thing.container or None
    )


def _symbol_json(context: Context, path: str, placed: PlacedThing) -> Json:
    start, end = placed.place.start, placed.place.end
    made: Json = {
        "name": placed.thing.name,
        "kind": _workspace_kind(context, placed).value,
        "location": {
            "uri": context.uri_of(path),
            "range": {
                "start": {"line": start.line, "character": start.character},
                "end": {"line": end.line, "character": end.character},
            },
        },
    }
    if placed.thing.container:
        made["containerName"] = placed.thing.container
    return made


def prepare_call_hierarchy(
    context: Context, params: types.CallHierarchyPrepareParams
) -> list[types.CallHierarchyItem] | None:
    """Return the macro or file at the position, or else the document itself."""
    requested = requested_place(context, params)
    item = call_item(context.snapshot, *requested) if requested is not None else None
    return [_sent(context, item)] if item is not None else None


def incoming_calls(
    context: Context, params: types.CallHierarchyIncomingCallsParams
) -> list[types.CallHierarchyIncomingCall] | None:
    """Return the callers of the item."""
    item = _received(context, params.item)
    if item is None:
        return None
    return [
        types.CallHierarchyIncomingCall(
            _sent(context, calls.item), [range_in(context, calls.item.path, span) for span in calls.places]
        )
        for calls in incoming(context.snapshot, item)
    ]


def outgoing_calls(
    context: Context, params: types.CallHierarchyOutgoingCallsParams
) -> list[types.CallHierarchyOutgoingCall] | None:
    """Return the callees of the item."""
    item = _received(context, params.item)
    if item is None:
        return None
    return [
        types.CallHierarchyOutgoingCall(
            _sent(context, calls.item), [range_in(context, item.path, span) for span in calls.places]
        )
        for calls in outgoing(context.snapshot, item)
    ]


def _sent(context: Context, item: CallItem) -> types.CallHierarchyItem:
    return types.CallHierarchyItem(
        item.name,
        types.SymbolKind.File if item.kind == "file" else types.SymbolKind.Function,
        context.uri_of(item.path),
        range_in(context, item.path, item.span),
        range_in(context, item.path, item.name_span),
        data={"kind": item.kind, "offset": item.name_span.start},
    )


def _received(context: Context, item: types.CallHierarchyItem) -> CallItem | None:
    path = path_of(item.uri)
    data = item.data if isinstance(item.data, dict) else {}
    if data.get("kind") != "macro":
        return file_item(context.snapshot, path)
    offset = data.get("offset")
    return macro_named(context.snapshot, path, item.name, offset if isinstance(offset, int) else 0)
