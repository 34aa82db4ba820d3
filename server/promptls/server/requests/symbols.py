"""Definitions, references, renames, symbols and call hierarchies."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

from lsprotocol import types
from pygls.exceptions import JsonRpcContentModified, JsonRpcException

from promptls.ide.document_symbols import DocumentSymbol, document_symbols, match
from promptls.ide.navigation import (
    CallItem,
    Target,
    call_item,
    declaration_steps,
    definition_steps,
    document_links,
    file_item,
    incoming,
    macro_named,
    outgoing,
)
from promptls.ide.ranges import highlights
from promptls.ide.rename import RenameEdit, prepare_steps, rename_files, rename_steps
from promptls.ide.symbols import Occurrence, occurrence_steps, symbol_at
from promptls.server.context import Context
from promptls.server.locations import (
    PositionParams,
    json_range_in,
    location,
    range_in,
    requested_name,
    requested_place,
    requested_symbol,
    text_edits,
    versioned_edit,
)
from promptls.server.progress import Slices, in_slices, progress, send_part
from promptls.server.state.auxiliary_documents import AuxiliaryDocuments
from promptls.server.state.scan import PlacedSymbol, SymbolIndex, WorkspaceScan
from promptls.server.to_proto import is_file, path_of, range_json, to_range
from promptls.syntax.source import Source
from promptls.text.errors import UserError
from promptls.text.positions import Span
from promptls.text.steps import Steps
from promptls.workspace.snapshot import Snapshot

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
    return _known_kind(_OUTLINE_KINDS[symbol.kind], context.capabilities.newer_outline_kinds).value


def _known_kind(kind: types.SymbolKind, newer: bool) -> types.SymbolKind:
    # Clients that list no kinds know those of the protocol's first version.
    return kind if newer or kind.value <= types.SymbolKind.Array.value else types.SymbolKind.Class


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
_SYMBOLS_PER_PART: Final = 200
_WORKSPACE_KINDS: Final = {
    "file": types.SymbolKind.File,
    "part": types.SymbolKind.Object,
    "section": types.SymbolKind.String,
    "macro": types.SymbolKind.Function,
    "block": types.SymbolKind.Namespace,
    "input": types.SymbolKind.Field,
}


async def workspace_symbol(
    context: Context, symbol_index: SymbolIndex, scan: WorkspaceScan, params: types.WorkspaceSymbolParams
) -> list[types.WorkspaceSymbol] | list[types.SymbolInformation]:
    """Return the symbols that match the query, best match first; in parts if the client supports that."""
    await scan.finished()
    token = params.partial_result_token
    found: list[tuple[int, str, PlacedSymbol]] = []
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
                score = match(params.query, placed.symbol.name)
                if score is not None:
                    found.append((score, path, placed))
            if token is not None and len(found) >= _SYMBOLS_PER_PART:
                send_part(context, token, [_information(context, path, placed) for _, path, placed in found])
                found = []
            if shown is not None and index % _SYMBOLS_PER_PART == 0:
                shown.report(f"{index + 1:,} of {len(paths):,} files", 100 * (index + 1) // len(paths))
    if token is not None:
        send_part(context, token, [_information(context, path, placed) for _, path, placed in found])
        return []
    best = sorted(found, key=lambda each: (-each[0], each[2].symbol.name, each[1]))[:_MAX_SYMBOLS]
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
        if (placed.symbol.name, placed.symbol.kind) == (symbol.name, data.get("kind"))
    ]
    top = types.Range(types.Position(0, 0), types.Position(0, 0))
    place = min(alike, key=lambda each: abs(each.start.line - line), default=top)
    symbol.location = types.Location(symbol.location.uri, place)
    return symbol


def _workspace_kind(context: Context, placed: PlacedSymbol) -> types.SymbolKind:
    return _known_kind(_WORKSPACE_KINDS[placed.symbol.kind], context.capabilities.newer_symbol_kinds)


def _symbol(context: Context, path: str, placed: PlacedSymbol) -> types.WorkspaceSymbol:
    symbol = placed.symbol
    return types.WorkspaceSymbol(
        types.LocationUriOnly(context.uri_of(path)),
        symbol.name,
        _workspace_kind(context, placed),
        data={"kind": symbol.kind, "line": placed.place.start.line},
        container_name=symbol.container or None,
    )


def _information(context: Context, path: str, placed: PlacedSymbol) -> types.SymbolInformation:
    place = types.Location(context.uri_of(path), placed.place)
    symbol = placed.symbol
    return types.SymbolInformation(
        place, symbol.name, _workspace_kind(context, placed), container_name=symbol.container or None
    )


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


Answer = list[types.Location] | list[types.LocationLink] | None


async def definition(context: Context, params: types.DefinitionParams) -> Answer:
    """Return where the symbol at the position is defined; as links if the client supports them."""
    return await _definitions(context, params, definition_steps, context.capabilities.definition_links)


async def declaration(context: Context, params: types.DeclarationParams) -> Answer:
    """Return where the symbol at the position is declared."""
    return await _definitions(context, params, declaration_steps, context.capabilities.declaration_links)


async def _definitions(
    context: Context,
    params: PositionParams,
    steps_from: Callable[[Snapshot, str, int], Steps[tuple[Target, ...]]],
    links: bool,
) -> Answer:
    requested = requested_symbol(context, params)
    if requested is None:
        return None
    path = requested[0]
    targets = await in_slices(context, steps_from(context.snapshot, *requested))
    if not links:
        return [location(context, target.path, target.span) for target in targets]
    return [
        types.LocationLink(
            context.uri_of(target.path),
            (place := range_in(context, target.path, target.span)),
            place,
            range_in(context, path, target.origin),
        )
        for target in targets
    ]


_REFERENCES_PER_PART: Final = 100


async def references(
    context: Context, scan: WorkspaceScan, params: types.ReferenceParams
) -> list[dict[str, Any]] | None:
    """Return the references to the symbol at the position, with its declarations if requested."""
    requested = requested_symbol(context, params)
    await scan.finished()
    snapshot = context.snapshot
    symbol = symbol_at(snapshot, *requested) if requested is not None else None
    if symbol is None:
        return None
    token = params.partial_result_token
    waiting: list[dict[str, Any]] = []

    def add(found: tuple[Occurrence, ...]) -> None:
        for each in found:
            if params.context.include_declaration or each.use != "declaration":
                place = json_range_in(context, each.path, each.span)
                waiting.append({"uri": context.uri_of(each.path), "range": place})
        while token is not None and len(waiting) >= _REFERENCES_PER_PART:
            send_part(context, token, waiting[:_REFERENCES_PER_PART])
            del waiting[:_REFERENCES_PER_PART]

    steps = occurrence_steps(snapshot, symbol, report=add if token is not None else None)
    found = await in_slices(context, steps, params.work_done_token, f"Looking for `{symbol.name}`")
    if token is not None:
        send_part(context, token, waiting)
        return []
    slices = Slices()
    for each in found:
        await slices.pause()
        add((each,))
    return waiting


_HIGHLIGHT_KINDS: Final = {
    "text": types.DocumentHighlightKind.Text.value,
    "read": types.DocumentHighlightKind.Read.value,
    "write": types.DocumentHighlightKind.Write.value,
}


def document_highlight(
    context: Context, auxiliary: AuxiliaryDocuments, params: types.DocumentHighlightParams
) -> list[dict[str, Any]] | None:
    """Return the occurrences in the document of the symbol at the position."""
    requested = requested_name(context, auxiliary, params)
    if requested is None:
        return None
    return [
        {"range": json_range_in(context, requested[0], each.span), "kind": _HIGHLIGHT_KINDS[each.kind]}
        for each in highlights(context.snapshot, *requested)
    ]


def document_link(context: Context, params: types.DocumentLinkParams) -> list[types.DocumentLink] | None:
    """Return links to the files that the document names."""
    path = context.prompt_path(params.text_document.uri)
    template = context.snapshot.template(path) if path else None
    if path is None or template is None:
        return None
    return [
        types.DocumentLink(
            to_range(template.source, link.span, context.encoding),
            context.uri_of(link.target),
            link.tooltip if context.capabilities.link_tooltips else None,
        )
        for link in document_links(context.snapshot, path)
    ]


_LIKELY: Final = "promptls.likely"


async def prepare_rename(
    context: Context, scan: WorkspaceScan, params: types.PrepareRenameParams
) -> types.PrepareRenamePlaceholder | None:
    """Return the range of the name at the position, and the name; None if it cannot be renamed here."""
    requested = requested_symbol(context, params)
    if requested is None:
        return None
    await scan.finished()
    try:
        found = await in_slices(context, prepare_steps(context.snapshot, *requested))
    except UserError as failure:
        raise _refusal(failure) from None
    if found is None:
        return None
    return types.PrepareRenamePlaceholder(range_in(context, requested[0], found.span), found.name)


async def rename_symbol(
    context: Context, auxiliary: AuxiliaryDocuments, scan: WorkspaceScan, params: types.RenameParams
) -> types.WorkspaceEdit | None:
    """Return the edits of all files that rename the symbol at the position.

    The request fails with ContentModified if one of the files was edited meanwhile.
    """
    requested = requested_symbol(context, params)
    if requested is None:
        return None
    await scan.finished()
    snapshot = context.snapshot
    steps = rename_steps(snapshot, *requested, params.new_name)
    try:
        edits = await in_slices(context, steps, params.work_done_token, "Renaming")
    except UserError as failure:
        raise _refusal(failure) from None
    if edits is None:
        return None
    now = context.snapshot
    if any(
        now.open_file(edit.path) is not snapshot.open_file(edit.path) or auxiliary.is_waiting(edit.path)
        for edit in edits
    ):
        raise JsonRpcContentModified("the text has changed")
    return _renaming(context, edits)


def _refusal(failure: UserError) -> JsonRpcException:
    return JsonRpcException(failure.message, types.LSPErrorCodes.RequestFailed.value)


def _renaming(context: Context, edits: tuple[RenameEdit, ...]) -> types.WorkspaceEdit:
    """Return the edits of all files, in the form that the client supports."""
    by_file = {path: list(each) for path, each in groupby(edits, attrgetter("path"))}
    if not context.capabilities.versioned_edits:
        return types.WorkspaceEdit(
            changes={context.uri_of(path): text_edits(context, path, each) for path, each in by_file.items()}
        )
    annotations = None
    if context.capabilities.change_annotations and any(edit.needs_review for edit in edits):
        label = "Likely the same name"
        description = "Tick what is meant as well: these rows may be of another dataset."
        annotations = {
            _LIKELY: types.ChangeAnnotation(label, needs_confirmation=True, description=description)
        }
    changes = [
        versioned_edit(context, path, [_text_edit(context, edit) for edit in each])
        for path, each in by_file.items()
    ]
    return types.WorkspaceEdit(document_changes=changes, change_annotations=annotations)


def _text_edit(context: Context, edit: RenameEdit) -> types.TextEdit | types.AnnotatedTextEdit:
    place = range_in(context, edit.path, edit.span)
    if edit.needs_review and context.capabilities.change_annotations:
        return types.AnnotatedTextEdit(_LIKELY, place, edit.text)
    return types.TextEdit(place, edit.text)


def will_rename_files(context: Context, params: types.RenameFilesParams) -> types.WorkspaceEdit | None:
    """Return the edits that update references to the files; None if there are none."""
    pairs = [(path_of(file.old_uri), path_of(file.new_uri)) for file in params.files]
    edits = rename_files(context.snapshot, {old: new for old, new in pairs if is_file(old) and is_file(new)})
    return _renaming(context, edits) if edits else None
