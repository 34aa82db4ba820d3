"""Rendering without an event loop, for the command line."""

from __future__ import annotations

import asyncio

from promptls.rendering.job import RenderJob
from promptls.rendering.limits import Limits
from promptls.rendering.outcome import RenderFailure, Rendering
from promptls.rendering.worker import RenderWorker


def render_once(job: RenderJob, limits: Limits | None = None) -> Rendering | RenderFailure:
    """The outcome of one job, in a process that is started and ended for it.

    Raises RuntimeError where an event loop is running already: there, use RenderWorker.
    """

    async def run() -> Rendering | RenderFailure:
        worker = RenderWorker(limits)
        try:
            return await worker.render(job)
        finally:
            await worker.close()

    return asyncio.run(run())
