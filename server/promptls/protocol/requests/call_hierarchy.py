"""`textDocument/prepareCallHierarchy`, `callHierarchy/incomingCalls` and `callHierarchy/outgoingCalls`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from promptls.features.call_hierarchy import (
    CallItem,
    call_item,
    file_item,
    incoming,
    macro_named,
    outgoing,
)
from promptls.protocol.answers.locations import asked_place, range_in
from promptls.protocol.convert import path_of

if TYPE_CHECKING:
    from promptls.protocol.session import Session


def prepare(
    session: Session, params: types.CallHierarchyPrepareParams
) -> list[types.CallHierarchyItem] | None:
    """The macro or file at the position; the document itself where neither is named."""
    asked = asked_place(session, params)
    item = call_item(session.snapshot, *asked) if asked is not None else None
    return [_sent(session, item)] if item is not None else None


def incoming_calls(
    session: Session, params: types.CallHierarchyIncomingCallsParams
) -> list[types.CallHierarchyIncomingCall] | None:
    """Who calls the item, as the workspace is now."""
    item = _received(session, params.item)
    if item is None:
        return None
    return [
        types.CallHierarchyIncomingCall(
            _sent(session, calls.item), [range_in(session, calls.item.path, span) for span in calls.places]
        )
        for calls in incoming(session.snapshot, item)
    ]


def outgoing_calls(
    session: Session, params: types.CallHierarchyOutgoingCallsParams
) -> list[types.CallHierarchyOutgoingCall] | None:
    """Whom the item calls, as the workspace is now."""
    item = _received(session, params.item)
    if item is None:
        return None
    return [
        types.CallHierarchyOutgoingCall(
            _sent(session, calls.item), [range_in(session, item.path, span) for span in calls.places]
        )
        for calls in outgoing(session.snapshot, item)
    ]


def _sent(session: Session, item: CallItem) -> types.CallHierarchyItem:
    return types.CallHierarchyItem(
        item.name,
        types.SymbolKind.File if item.kind == "file" else types.SymbolKind.Function,
        session.uri_of(item.path),
        range_in(session, item.path, item.span),
        range_in(session, item.path, item.name_span),
        data={"kind": item.kind, "offset": item.name_span.start},
    )


def _received(session: Session, item: types.CallHierarchyItem) -> CallItem | None:
    path = path_of(item.uri)
    data = item.data if isinstance(item.data, dict) else {}
    if data.get("kind") != "macro":
        return file_item(session.snapshot, path)
    offset = data.get("offset")
    return macro_named(session.snapshot, path, item.name, offset if isinstance(offset, int) else 0)
