"""`completionItem/resolve`: the documentation of the item that the user looks at."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from promptls.features.completion.documentation import documentation
from promptls.protocol.answers.plain_text import in_form
from promptls.protocol.convert import path_of
from promptls.protocol.dispatch import attempted

if TYPE_CHECKING:
    from promptls.protocol.session import Session


def completion_resolve(session: Session, item: dict[str, Any]) -> dict[str, Any]:
    """The item with its documentation, in Markdown where the client shows that; else as it came."""
    data = item.get("data")
    if not isinstance(data, dict) or not isinstance(data.get("uri"), str) or item.get("documentation"):
        return item
    path = path_of(data["uri"])
    known = partial(
        documentation,
        session.snapshot,
        path,
        str(item.get("label", "")),
        str(data.get("source", "")),
        tuple(map(str, data.get("path") or ())),
        int(data.get("offset") or 0),
        session.renderings.newest(path),
    )
    text = attempted("completionItem/resolve", known)
    if not text:
        return item
    return {**item, "documentation": in_form(text, session.flags.completion_formats)}
