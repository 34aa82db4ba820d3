"""`promptls.cancelRun`: ends the runs of a prompt's experiment; what they have finished is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptls.protocol.commands.arguments import prompt_path
from promptls.text.arguments import optional

if TYPE_CHECKING:
    from lsprotocol import types

    from promptls.protocol.session import Session


async def cancel_run(
    session: Session, arguments: dict[str, Any], _token: types.ProgressToken | None
) -> dict[str, Any]:
    """How many runs were going on; each of them answers its own command as cancelled."""
    path = prompt_path(session, arguments)
    cancelled = session.runs.cancel(path, optional(arguments, "experiment", str))
    return {"cancelled": cancelled, "message": "The run is cancelled." if cancelled else "Nothing is run."}
