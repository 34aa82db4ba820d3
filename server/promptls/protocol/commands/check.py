"""`promptls.check`: the findings of one file, or of every prompt file of the workspace."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from promptls.protocol.commands.arguments import prompt_path
from promptls.workspace.disk import prompt_paths

if TYPE_CHECKING:
    from promptls.protocol.session import Session
    from promptls.rules.rule import Finding


async def check_files(
    session: Session, arguments: dict[str, Any], _token: types.ProgressToken | None
) -> list[dict[str, Any]]:
    """One object a finding: the file, the range in the client's units, the rule and what it says."""
    if arguments.get("uri") is not None:
        return await _findings(session, prompt_path(session, arguments))
    found = []
    for root in session.snapshot.roots:
        for path in prompt_paths(Path(root)):
            found += await _findings(session, path)
            await asyncio.sleep(0)  # other requests go between two files
    return found


async def _findings(session: Session, path: str) -> list[dict[str, Any]]:
    uri = session.uri_of(path)
    rendered = await _of_rendering(session, path)
    return [{"uri": uri, "path": path, **found} for found in session.diagnostics.now(path, rendered)]


async def _of_rendering(session: Session, path: str) -> tuple[Finding, ...] | None:
    """What the rendering of a file shows that is not open; None for an open one, of which it is known."""
    from promptls.rules.checking.renderings import check_rendering, needs_rendering

    snapshot = session.snapshot
    if path in snapshot.open_files:
        await session.renderings.first(path)
        return None
    if not needs_rendering(snapshot, path):
        return ()
    return check_rendering(snapshot, path, await session.renderings.once(snapshot, path))
