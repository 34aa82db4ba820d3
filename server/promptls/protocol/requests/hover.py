"""`textDocument/hover`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from lsprotocol import types

from promptls.features.hover import hover as hover_at
from promptls.protocol.convert import from_position, to_range
from promptls.protocol.plain_text import without_markdown

if TYPE_CHECKING:
    from promptls.protocol.session import Session


async def hover(session: Session, params: types.HoverParams) -> types.Hover | None:
    """What is known of the place, in Markdown where the client shows it."""
    path = session.prompt_path(params.text_document.uri)
    if path is None:
        return None
    newest = await session.renderings.first(path)
    snapshot = session.snapshot
    template = snapshot.template(path)
    if template is None:
        return None
    offset = from_position(template.source, params.position, session.unit)
    found = hover_at(snapshot, path, offset, newest, partial(session.runs.current, path))
    if found is None:
        return None
    markdown = session.flags.markdown
    contents = types.MarkupContent(
        types.MarkupKind.Markdown if markdown else types.MarkupKind.PlainText,
        found.markdown if markdown else without_markdown(found.markdown),
    )
    return types.Hover(contents, to_range(template.source, found.span, session.unit))
