"""What `promptls check` finds in renderings: each prompt is rendered once, in a process of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from promptls.rendering.file_rendering import FileRendering
    from promptls.rules.rule import Finding
    from promptls.workspace.snapshot import Snapshot


class RenderingFindings(NamedTuple):
    """What renderings show, by file, and the files that were rendered without their functions."""

    findings: Mapping[str, tuple[Finding, ...]]
    without_functions: tuple[str, ...] = ()


def findings_of_renderings(
    snapshot: Snapshot, paths: Iterable[str], rules: Container[str], *, trusted: bool
) -> RenderingFindings:
    """The findings of those `rules` that look at renderings; none where none of them is on.

    Functions files are run only where that is allowed: without, checking a prompt runs nothing but its
    template, in the sandbox, and the rules leave out what functions of the user would change.
    """
    from promptls.rules.checking.renderings import RENDERING_RULES, check_rendering, needs_rendering
    from promptls.workspace.contract import functions_path

    if not any(rule.name in rules for rule in RENDERING_RULES):
        return RenderingFindings({})
    asked = [path for path in paths if needs_rendering(snapshot, path)]
    if not asked:
        return RenderingFindings({})
    seen = replace(snapshot, trusted=trusted)
    found: dict[str, tuple[Finding, ...]] = {}
    without_functions: list[str] = []
    for made in asyncio.run(_rendered(seen, asked)):
        path = made.job.path
        found[path] = tuple(finding for finding in check_rendering(seen, path, made) if finding.rule in rules)
        if not trusted and made.job.stand_ins and functions_path(snapshot, path) is not None:
            without_functions.append(path)
    return RenderingFindings(found, tuple(without_functions))


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
