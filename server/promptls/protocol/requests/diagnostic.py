"""`textDocument/diagnostic`: the diagnostics of one document, for a client that asks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptls.protocol.convert import path_of

if TYPE_CHECKING:
    from promptls.protocol.session import Session


def diagnostic(session: Session, params: dict[str, Any]) -> dict[str, Any]:
    """The document's diagnostics, or that they are those of the previous answer.

    With them come those of other open documents that the last change gave others, for a client
    that takes them.
    """
    path = path_of(params["textDocument"]["uri"])
    report = session.diagnostics.report(path, params.get("previousResultId"))
    if session.flags.related_documents and (related := session.diagnostics.related(path)):
        report["relatedDocuments"] = related
    return report
