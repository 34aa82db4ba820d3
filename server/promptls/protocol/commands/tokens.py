"""`promptls.tokens`: the tokens of a prompt, part by part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsprotocol import types

from promptls.features.token_report import model_of, report_json, token_report
from promptls.models.registry import find_model
from promptls.protocol.commands.arguments import prompt_path
from promptls.protocol.kept.renderings import with_consent
from promptls.rendering.file_rendering import FileRendering
from promptls.rendering.outcome import RenderFailure
from promptls.rendering.request import job_for
from promptls.text.arguments import optional
from promptls.text.failure import Failure, FilePlace

if TYPE_CHECKING:
    from promptls.protocol.session import Session


async def tokens(
    session: Session, arguments: dict[str, Any], _token: types.ProgressToken | None
) -> dict[str, Any]:
    """The tokens of the rendered parts, as `report_json` writes them.

    The arguments are `uri` and, by choice, the `model` whose window and price are meant. `rows` are
    those that the background has rendered so far. Raises Failure for a prompt that does not render.
    """
    path = prompt_path(session, arguments)
    snapshot = with_consent(session.snapshot, session.trusted)
    name = optional(arguments, "model", str)
    model = find_model(name, snapshot.project(path).settings.models) if name else model_of(snapshot, path)
    sample = session.renderings.sample(snapshot, path)
    job = job_for(snapshot, path, sample.data, with_stand_ins=True)
    outcome = await session.renderings.render(snapshot, job)
    if isinstance(outcome, RenderFailure):
        raise Failure(outcome.message, FilePlace(outcome.path or path, outcome.line))
    newest = session.renderings.newest(path)
    rows = newest.rows if newest is not None and newest.job.text == job.text else None
    made = FileRendering(job, sample, outcome, rows=rows)
    report = token_report(snapshot, made, model)
    assert report is not None
    return report_json(made, report)
