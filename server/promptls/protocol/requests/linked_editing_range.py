"""`textDocument/linkedEditingRange`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from promptls.features.linked_editing import WORD_PATTERN, linked_places
from promptls.protocol.answers.locations import asked_place, range_in

if TYPE_CHECKING:
    from promptls.protocol.session import Session


def linked_editing_range(
    session: Session, params: types.LinkedEditingRangeParams
) -> types.LinkedEditingRanges | None:
    """The places that are to be typed at once with the one at the position."""
    asked = asked_place(session, params)
    places = linked_places(session.snapshot, *asked) if asked is not None else ()
    if asked is None or not places:
        return None
    return types.LinkedEditingRanges([range_in(session, asked[0], span) for span in places], WORD_PATTERN)
