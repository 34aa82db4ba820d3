"""Definitions, declarations, references, highlights and links."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types

from promptls.ide.navigation import Target, declaration_steps, definition_steps, document_links
from promptls.ide.ranges import highlights
from promptls.ide.symbols import Occurrence, occurrence_steps, symbol_at
from promptls.server.locations import json_range_in, location, range_in, requested_name, requested_symbol
from promptls.server.progress import Slices, in_slices, send_part
from promptls.server.to_proto import to_range

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptls.server.context import Context
    from promptls.server.locations import PositionParams
    from promptls.server.state.auxiliary_documents import AuxiliaryDocuments
    from promptls.server.state.scan import WorkspaceScan
    from promptls.text.steps import Steps
    from promptls.workspace.snapshot import Snapshot


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
"""The number of references per partial result."""


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
