"""`promptls.preview`: what a prompt renders to, with the data, the limit and the step that are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsprotocol import types

from promptls.features.preview import preview_markdown
from promptls.preview.choice import Choice, preview_job
from promptls.preview.result import preview_result
from promptls.protocol.client.shown_text import show_text
from promptls.protocol.commands.arguments import prompt_path
from promptls.rendering.job import RenderJob
from promptls.rendering.samples import Sample
from promptls.workspace.snapshot import Snapshot

if TYPE_CHECKING:
    from promptls.protocol.session import Session


async def preview(
    session: Session, arguments: dict[str, Any], _token: types.ProgressToken | None
) -> dict[str, Any]:
    """The rendering as JSON, and what it was made with; `failure` says why there is none."""
    path = prompt_path(session, arguments)
    choice = Choice.from_json(arguments)

    def made_job(snapshot: Snapshot) -> tuple[Sample, RenderJob]:
        sample = session.renderings.choose(snapshot, path, choice.data)
        return sample, preview_job(snapshot, path, sample, choice)

    snapshot, made = await session.renderings.preview(path, made_job)
    result = preview_result(snapshot, path, made, session.uri_of, session.unit)
    if not session.flags.panels:
        result["document"] = show_text(session, path, "preview", preview_markdown(made))
    return result
