"""`textDocument/selectionRange`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from promptls.features.selection import selections
from promptls.protocol.convert import from_position, to_range

if TYPE_CHECKING:
    from promptls.protocol.session import Session


def selection_range(
    session: Session, params: types.SelectionRangeParams
) -> list[types.SelectionRange] | None:
    """For each position the stretches around it, each inside of its parent."""
    path = session.prompt_path(params.text_document.uri)
    template = session.snapshot.template(path) if path is not None else None
    if path is None or template is None:
        return None
    found = []
    for position in params.positions:
        offset = from_position(template.source, position, session.unit)
        around: types.SelectionRange | None = None
        for span in reversed(selections(session.snapshot, path, offset)):
            around = types.SelectionRange(to_range(template.source, span, session.unit), around)
        assert around is not None  # the file itself is around every place
        found.append(around)
    return found
