"""The findings of `promptls check` in renderings: each prompt is rendered once, in a separate process."""

from __future__ import annotations

import asyncio
from collections.abc import Container, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from promptls.lint.rule import Finding
    from promptls.rendering.file_rendering import FileRendering
    from promptls.workspace.snapshot import Snapshot


class RenderingFindings(NamedTuple):
    """What renderings show, by file, and the files that were rendered without what they need to run."""

    findings: Mapping[str, tuple[Finding, ...]]
    incomplete: tuple[str, ...] = ()


def findings_of_renderings(
    snapshot: Snapshot, paths: Iterable[str], rules: Container[str]
) -> RenderingFindings:
    """Return the findings of those `rules` that look at renderings; none if none of them is on.

    Functions files are run only if the snapshot is trusted. Otherwise, checking a prompt runs nothing but
    its template, in the sandbox, and the rules leave out what functions of the user would change.
    """
    from promptls.lint.runner import RENDERING_RULES, check_rendering, needs_rendering
    from promptls.rendering.folder_code import code_of_rendering

    if not any(rule.name in rules for rule in RENDERING_RULES):
        return RenderingFindings({})
    asked = [path for path in paths if needs_rendering(snapshot, path)]
    if not asked:
        return RenderingFindings({})
    found: dict[str, tuple[Finding, ...]] = {}
    incomplete: list[str] = []
    for made in asyncio.run(_rendered(snapshot, asked)):
        path = made.job.path
        found[path] = tuple(
            finding for finding in check_rendering(snapshot, path, made) if finding.rule in rules
        )
        if not snapshot.trusts(path):
            code = code_of_rendering(snapshot, [path])
            if code.models or (code.python and made.job.stand_ins):
                incomplete.append(path)
    return RenderingFindings(found, tuple(incomplete))


async def _rendered(snapshot: Snapshot, paths: Iterable[str]) -> list[FileRendering]:
    from promptls.rendering.make import limits_for, render_file, weigh_rows
    from promptls.rendering.worker import Limits, RenderWorker

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
