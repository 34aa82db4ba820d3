"""What `promptls check` finds in renderings: each prompt is rendered once, in a process of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Container, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from promptls.rendering.file_rendering import FileRendering
    from promptls.rules.rule import Finding
    from promptls.workspace.snapshot import Snapshot


def findings_of_renderings(
    snapshot: Snapshot, paths: Iterable[str], rules: Container[str]
) -> dict[str, tuple[Finding, ...]]:
    """The findings of those `rules` that look at renderings, by file; empty where none of them is on.

    Functions files are not run: checking a prompt runs nothing but its template, in the sandbox.
    """
    from promptls.rules.check_rendering import RENDERING_RULES, check_rendering, needs_rendering

    if not any(rule.name in rules for rule in RENDERING_RULES):
        return {}
    asked = [path for path in paths if needs_rendering(snapshot, path)]
    if not asked:
        return {}
    untrusted = replace(snapshot, trusted=False)
    return {
        made.job.path: tuple(
            finding for finding in check_rendering(untrusted, made.job.path, made) if finding.rule in rules
        )
        for made in asyncio.run(_rendered(untrusted, asked))
    }


async def _rendered(snapshot: Snapshot, paths: Iterable[str]) -> list[FileRendering]:
    from promptls.rendering.limits import Limits
    from promptls.rendering.make import limits_for, render_file, weigh_rows
    from promptls.rendering.worker import RenderWorker

    workers: dict[Limits, RenderWorker] = {}
    made = []
    try:
        for path in paths:
            limits = limits_for(snapshot, path)
            worker = workers.setdefault(limits, RenderWorker(limits))
            rendering = await render_file(worker, snapshot, path)
            made.append(await weigh_rows(worker, snapshot, rendering))
    finally:
        for worker in workers.values():
            await worker.close()
    return made
