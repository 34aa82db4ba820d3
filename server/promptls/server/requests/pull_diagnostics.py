"""Diagnostics for clients that ask for them: of one document, and of the workspace."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Final

from promptls.server.progress import Slices, progress, send_part
from promptls.server.uris import path_of

if TYPE_CHECKING:
    from lsprotocol import types

    from promptls.server.context import Context
    from promptls.server.diagnostics import Diagnostics


def diagnostic(
    context: Context, diagnostics: Diagnostics, params: types.DocumentDiagnosticParams
) -> dict[str, Any]:
    """Report the diagnostics of a document, and of related documents if the client supports that."""
    path = path_of(params.text_document.uri)
    report = diagnostics.report(path, params.previous_result_id)
    if context.capabilities.related_documents and (related := diagnostics.related(path)):
        report["relatedDocuments"] = related
    return report


_REPORTS_PER_PART: Final = 50
"""How many documents are reported at a time to a client that takes partial results."""
_NOTHING: Final[dict[str, Any]] = {"kind": "full", "resultId": "not wanted", "items": []}


async def workspace_diagnostic(
    context: Context, diagnostics: Diagnostics, params: types.WorkspaceDiagnosticParams
) -> dict[str, Any]:
    """Report on each prompt file, and on each file that the client has diagnostics of."""
    previous = {path_of(each.uri): each.value for each in params.previous_result_ids}
    snapshot = context.snapshot
    paths = sorted({*snapshot.graph.paths, *snapshot.open_files, *previous})
    token = params.partial_result_token
    items: list[dict[str, Any]] = []
    slices = Slices()
    async with AsyncExitStack() as stack:
        shown = None
        if params.work_done_token is not None:
            shown = await stack.enter_async_context(
                progress(context, params.work_done_token, "Checking prompt files")
            )
        for index, path in enumerate(paths):
            await slices.pause()
            if path not in previous and not _is_wanted(context, path):
                continue
            items.append(_report(context, diagnostics, path, previous.get(path)))
            if index % _REPORTS_PER_PART == 0 and shown is not None:
                shown.report(f"{index + 1:,} of {len(paths):,} files", 100 * (index + 1) // len(paths))
            if len(items) >= _REPORTS_PER_PART and token is not None:
                send_part(context, token, {"items": items})
                items = []
    if token is not None:
        send_part(context, token, items and {"items": items})
        items = []
    return {"items": items}


def _report(context: Context, diagnostics: Diagnostics, path: str, previous: str | None) -> dict[str, Any]:
    """Return the diagnostics of a file, or that they are those of the `previous` result."""
    opened = context.snapshot.open_files.get(path)
    if opened is not None or context.snapshot.project(path).settings.diagnostics.closed_files:
        report = diagnostics.report(path, previous)
    elif previous == _NOTHING["resultId"]:
        report = {"kind": "unchanged", "resultId": previous}
    else:
        report = _NOTHING
    return {**report, "uri": context.uri_of(path), "version": opened.version if opened else None}


def _is_wanted(context: Context, path: str) -> bool:
    """Return whether to report on a file of which the client has no diagnostics."""
    if not context.is_checked(path):
        return False
    snapshot = context.snapshot
    return path in snapshot.open_files or snapshot.project(path).settings.diagnostics.closed_files
