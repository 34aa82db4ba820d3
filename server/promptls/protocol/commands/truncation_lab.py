"""`promptls.truncationLab`: what a token limit and a step do to a growing chat, with progress and cancel."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from promptls.preview.choice import chosen_sample
from promptls.protocol.client.progress import progress
from promptls.protocol.commands.arguments import prompt_path
from promptls.protocol.kept.renderings import with_consent
from promptls.rendering.lab import LabOptions, explore, lab_request
from promptls.rendering.make import limits_for
from promptls.rendering.outcome import RenderFailure
from promptls.text.arguments import optional

if TYPE_CHECKING:
    from promptls.protocol.session import Session


async def truncation_lab(
    session: Session, arguments: dict[str, Any], token: types.ProgressToken | None
) -> dict[str, Any]:
    """An object with `uri`, `found`, `failure` and `cancelled`.

    The arguments are `uri`, and by choice `sample` or `row` (from 0), `limit`, `step`, `limits`,
    `steps`, `turns`, `rows`, `input` and `cache`. `found` is a `LabJson`, or null; `failure` says why
    there is none.
    """
    path = prompt_path(session, arguments)
    snapshot = with_consent(session.snapshot, session.trusted)
    row, name = optional(arguments, "row", int), optional(arguments, "sample", str)
    chosen = name if row is None else row + 1
    sample = None if chosen is None else chosen_sample(snapshot, path, chosen)
    request = lab_request(snapshot, path, LabOptions.from_json(arguments), sample)
    result: dict[str, Any] = {
        "uri": session.uri_of(path),
        "found": None,
        "failure": None,
        "cancelled": False,
    }
    async with progress(session, token, "Growing the chat") as shown:

        def tell(what: str, done: int, count: int) -> None:
            shown.report(f"{what}: {done} of {count}", 100 * done // max(count, 1))

        exploring = asyncio.ensure_future(explore(request, limits_for(snapshot, path), tell))
        shown.when_cancelled(exploring.cancel)
        try:
            found = await exploring
        except asyncio.CancelledError:
            if not shown.is_cancelled:
                exploring.cancel()
                raise
            return {**result, "cancelled": True}
    if isinstance(found, RenderFailure):
        return {**result, "failure": asdict(found)}
    return {**result, "found": found}
