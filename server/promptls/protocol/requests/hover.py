"""`textDocument/hover`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from lsprotocol import types

from promptls.features.hover import hover as hover_at
from promptls.features.settings_file import explain_setting, is_settings_file
from promptls.protocol.answers.plain_text import hover_contents
from promptls.protocol.convert import from_position, path_of, to_range
from promptls.protocol.registrations.dataset_documents import hover_dataset

if TYPE_CHECKING:
    from promptls.protocol.session import Session


async def hover(session: Session, params: types.HoverParams) -> types.Hover | None:
    """What is known of the place, in Markdown where the client shows it."""
    path = path_of(params.text_document.uri)
    is_settings = is_settings_file(path)
    if not is_settings and session.prompt_path(params.text_document.uri) is None:
        return hover_dataset(session, params)
    newest = None if is_settings else await session.renderings.first(path)
    snapshot = session.snapshot
    template = snapshot.template(path)
    if template is None:
        return None
    offset = from_position(template.source, params.position, session.unit)
    if is_settings:
        found = explain_setting(snapshot, path, offset)
    else:
        found = hover_at(snapshot, path, offset, newest, partial(session.runs.current, path))
    if found is None:
        return None
    return types.Hover(
        hover_contents(session, found.markdown), to_range(template.source, found.span, session.unit)
    )
