"""`textDocument/diagnostic`: the diagnostics of one document, for a client that asks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptls.protocol.convert import path_of

if TYPE_CHECKING:
    from promptls.protocol.session import Session


def diagnostic(session: Session, params: dict[str, Any]) -> dict[str, Any]:
    """The document's diagnostics, or that they are those of the previous answer."""
    return session.diagnostics.report(path_of(params["textDocument"]["uri"]), params.get("previousResultId"))
