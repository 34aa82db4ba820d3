"""`promptls.preview`: what a prompt renders to, with the data, the limit and the step that are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsprotocol import types

from promptls.features.preview import preview_markdown
from promptls.preview.choice import Choice, preview_job
from promptls.preview.result import preview_result
from promptls.protocol.commands.arguments import prompt_path
from promptls.protocol.renderings import with_consent
from promptls.protocol.shown_text import show_text
from promptls.rendering.file_rendering import FileRendering

if TYPE_CHECKING:
    from promptls.protocol.session import Session


async def preview(
    session: Session, arguments: dict[str, Any], _token: types.ProgressToken | None
) -> dict[str, Any]:
    """The rendering as JSON, and what it was made with; `failure` says why there is none."""
    path = prompt_path(session, arguments)
    choice = Choice.from_json(arguments)
    snapshot = with_consent(session.snapshot, session.trusted)
    sample = session.renderings.choose(snapshot, path, choice.data)
    job = preview_job(snapshot, path, sample, choice)
    made = FileRendering(job, sample, await session.renderings.render(snapshot, job))
    result = preview_result(snapshot, path, made, session.uri_of, session.unit, whole_map=choice.source_map)
    if not session.flags.panels:
        result["document"] = show_text(session, path, "preview", preview_markdown(made))
    return result
