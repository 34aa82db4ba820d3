"""Renderings for features, made in the test process instead of a worker."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from promptls.rendering.execute import execute
from promptls.rendering.file_rendering import FileRendering, included_texts, template_texts
from promptls.rendering.job import RenderJob
from promptls.rendering.make import job_for, render_file, weigh
from promptls.rendering.outcome import RenderFailure, Rendering
from promptls.rendering.samples import samples_of
from promptls.tokens import count
from promptls.workspace.snapshot import Snapshot


def rendered(snapshot: Snapshot, path: str) -> FileRendering:
    """Return the file's rendering with its default sample."""
    sample = samples_of(snapshot, path)[0]
    job = job_for(snapshot, path, sample.data, with_stand_ins=True)
    template = snapshot.template(path)
    assert template is not None
    texts = [*template_texts(template), *included_texts(snapshot, path)]
    counted = {text: count(text, job.encoding) for text in texts}
    return FileRendering(job, sample, execute(job), counted)


class _InProcess:
    """A worker without a process."""

    async def render(self, job: RenderJob) -> Rendering | RenderFailure:
        return execute(job)

    async def count(self, texts: Sequence[str], encoding: str) -> list[int]:
        return [count(text, encoding) for text in texts]


def rendered_with_all(snapshot: Snapshot, path: str) -> FileRendering:
    """Return the file's rendering with all its samples."""

    async def render() -> FileRendering:
        worker: Any = _InProcess()
        return await weigh(worker, snapshot, await render_file(worker, snapshot, path))

    return asyncio.run(render())
