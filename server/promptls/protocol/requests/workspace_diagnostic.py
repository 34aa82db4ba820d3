"""`workspace/diagnostic`: the diagnostics of every prompt file, open or not, a few at a time."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types

from promptls.meaning.kind import Kind
from promptls.protocol.client.progress import progress, send_part
from promptls.protocol.convert import path_of
from promptls.protocol.slices import Slices

if TYPE_CHECKING:
    from promptls.protocol.session import Session

_BATCH: Final = 50
"""How many documents are reported at a time to a client that takes partial results."""


async def workspace_diagnostic(session: Session, params: types.WorkspaceDiagnosticParams) -> dict[str, Any]:
    """A report for each prompt file, and for each file that the client has diagnostics of."""
    await session.scan.finished()
    previous = {path_of(each.uri): each.value for each in params.previous_result_ids}
    snapshot = session.snapshot
    paths = sorted({*snapshot.graph.paths, *snapshot.open_files, *previous})
    session.reports.begin()
    token = params.partial_result_token
    items: list[dict[str, Any]] = []
    slices = Slices()
    async with AsyncExitStack() as stack:
        shown = None
        if params.work_done_token is not None:
            shown = await stack.enter_async_context(
                progress(session, params.work_done_token, "Checking prompt files")
            )
        for index, path in enumerate(paths):
            await slices.pause()
            if path not in previous and not _is_wanted(session, path):
                continue
            items.append(session.reports.report(path, previous.get(path)))
            if index % _BATCH == 0 and shown is not None:
                shown.report(f"{index + 1:,} of {len(paths):,} files", 100 * (index + 1) // len(paths))
            if len(items) >= _BATCH and token is not None:
                send_part(session, token, {"items": items})
                items = []
    if token is not None:
        send_part(session, token, items and {"items": items})
        items = []
    return {"items": items}


def _is_wanted(session: Session, path: str) -> bool:
    """Whether there is something to report of a file of which the client has nothing."""
    if session.kind(path) is Kind.OTHER:
        return False
    snapshot = session.snapshot
    return path in snapshot.open_files or snapshot.project(path).settings.diagnostics.closed_files
