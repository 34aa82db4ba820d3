"""`textDocument/documentSymbol`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types

from promptls.features.document_symbols import DocumentSymbol, document_symbols
from promptls.protocol.convert import range_json
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


def document_symbol(session: Session, params: dict[str, Any]) -> list[dict[str, Any]] | None:
    """The outline of the document: as a tree, or flat for a client that takes no tree."""
    uri = params["textDocument"]["uri"]
    path = session.prompt_path(uri)
    template = session.snapshot.template(path) if path is not None else None
    if path is None or template is None:
        return None
    found = document_symbols(session.snapshot, path)
    if session.flags.symbol_tree:
        return [_tree(session, template.source, symbol) for symbol in found]
    return [flat for symbol in found for flat in _flat(session, uri, template.source, symbol, None)]


def _tree(session: Session, source: Source, symbol: DocumentSymbol) -> dict[str, Any]:
    # The protocol wants the name inside the whole, which broken text may not give.
    name_span = Span(
        min(max(symbol.name_span.start, symbol.span.start), symbol.span.end),
        min(max(symbol.name_span.end, symbol.span.start), symbol.span.end),
    )
    made: dict[str, Any] = {
        "name": symbol.name or "?",
        "kind": _kind(session, symbol),
        "range": range_json(source, symbol.span, session.unit),
        "selectionRange": range_json(source, name_span, session.unit),
    }
    if symbol.detail:
        made["detail"] = symbol.detail
    if symbol.children:
        made["children"] = [_tree(session, source, child) for child in symbol.children]
    return made


def _kind(session: Session, symbol: DocumentSymbol) -> int:
    kind = _KINDS[symbol.kind]
    # Clients that list no kinds know those of the protocol's first version.
    is_newer = kind.value > types.SymbolKind.Array.value
    return (types.SymbolKind.Class if is_newer and not session.flags.newer_outline_kinds else kind).value


def _flat(
    session: Session, uri: str, source: Source, symbol: DocumentSymbol, container: str | None
) -> list[dict[str, Any]]:
    own: dict[str, Any] = {
        "name": symbol.name or "?",
        "kind": _kind(session, symbol),
        "location": {"uri": uri, "range": range_json(source, symbol.span, session.unit)},
    }
    if container is not None:
        own["containerName"] = container
    below = (_flat(session, uri, source, child, symbol.name) for child in symbol.children)
    return [own, *(each for found in below for each in found)]
