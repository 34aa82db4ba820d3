"""`promptls.tokens`: the tokens of a prompt, part by part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsprotocol import types

from promptls.protocol.commands.arguments import prompt_path
from promptls.protocol.renderings import with_consent
from promptls.rendering.outcome import RenderFailure
from promptls.rendering.request import job_for
from promptls.text.failure import Failure, FilePlace

if TYPE_CHECKING:
    from promptls.protocol.session import Session


async def tokens(
    session: Session, arguments: dict[str, Any], _token: types.ProgressToken | None
) -> dict[str, Any]:
    """The tokens of the rendered parts; raises Failure for a prompt that does not render."""
    path = prompt_path(session, arguments)
    snapshot = with_consent(session.snapshot, session.trusted)
    sample = session.renderings.sample(snapshot, path)
    job = job_for(snapshot, path, sample.data, with_stand_ins=True)
    outcome = await session.renderings.render(snapshot, job)
    if isinstance(outcome, RenderFailure):
        raise Failure(outcome.message, FilePlace(outcome.path or path, outcome.line))
    return {
        "total": outcome.tokens,
        "limit": job.token_limit if job.token_limit > 0 else None,
        "encoding": job.encoding,
        "approximate": False,
        "parts": [{"name": part.name, "tokens": part.tokens} for part in outcome.parts],
    }
