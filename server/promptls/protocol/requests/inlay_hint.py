"""`textDocument/inlayHint`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lsprotocol import types

from promptls.features.inlay_hints import inlay_hints
from promptls.protocol.convert import from_range, to_position

if TYPE_CHECKING:
    from promptls.protocol.session import Session

_FIRST_SECONDS: Final = 20.0
"""How long the first hints may take: nobody looks at an empty place until they come."""


async def inlay_hint(session: Session, params: types.InlayHintParams) -> list[types.InlayHint] | None:
    """The token counts of the parts in the range; the newest that are known.

    A client that cannot be told to ask again waits for the first ones.
    """
    path = session.prompt_path(params.text_document.uri)
    if path is not None and not session.flags.refreshes_inlay_hints:
        await session.renderings.first(path, _FIRST_SECONDS)
    template = session.snapshot.template(path) if path else None
    if path is None or template is None:
        return None
    within = from_range(template.source, params.range, session.unit)
    return [
        types.InlayHint(
            position=to_position(template.source, hint.offset, session.unit),
            label=hint.label,
            tooltip=hint.tooltip,
            padding_left=True,
        )
        for hint in inlay_hints(session.snapshot, path, within, session.renderings.newest(path))
    ]
