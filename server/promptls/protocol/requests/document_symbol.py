"""`textDocument/documentSymbol`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lsprotocol import types

from promptls.features.document_symbols import Symbol, document_symbols
from promptls.protocol.convert import to_range
from promptls.syntax.source import Source
from promptls.text.span import Span

if TYPE_CHECKING:
    from promptls.protocol.session import Session

_KINDS: Final = {
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


def document_symbol(
    session: Session, params: types.DocumentSymbolParams
) -> list[types.DocumentSymbol] | list[types.SymbolInformation] | None:
    """The outline of the document: as a tree, or flat for a client that takes no tree."""
    path = session.prompt_path(params.text_document.uri)
    template = session.snapshot.template(path) if path else None
    if path is None or template is None:
        return None
    found = document_symbols(session.snapshot, path)
    if session.flags.symbol_tree:
        return [_tree(session, template.source, symbol) for symbol in found]
    uri = params.text_document.uri
    return [flat for symbol in found for flat in _flat(session, uri, template.source, symbol, None)]


def _tree(session: Session, source: Source, symbol: Symbol) -> types.DocumentSymbol:
    # The protocol wants the name inside the whole, which broken text may not give.
    name_span = Span(
        min(max(symbol.name_span.start, symbol.span.start), symbol.span.end),
        min(max(symbol.name_span.end, symbol.span.start), symbol.span.end),
    )
    return types.DocumentSymbol(
        name=symbol.name or "?",
        kind=_kind(session, symbol),
        range=to_range(source, symbol.span, session.unit),
        selection_range=to_range(source, name_span, session.unit),
        detail=symbol.detail or None,
        children=[_tree(session, source, child) for child in symbol.children] or None,
    )


def _kind(session: Session, symbol: Symbol) -> types.SymbolKind:
    kind = _KINDS[symbol.kind]
    # Clients that list no kinds know those of the protocol's first version.
    is_newer = kind.value > types.SymbolKind.Array.value
    return types.SymbolKind.Class if is_newer and not session.flags.newer_outline_kinds else kind


def _flat(
    session: Session, uri: str, source: Source, symbol: Symbol, container: str | None
) -> list[types.SymbolInformation]:
    place = types.Location(uri, to_range(source, symbol.span, session.unit))
    own = types.SymbolInformation(place, symbol.name or "?", _kind(session, symbol), container_name=container)
    below = (_flat(session, uri, source, child, symbol.name) for child in symbol.children)
    return [own, *(each for found in below for each in found)]
