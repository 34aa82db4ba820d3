"""A worker for the tests of one module, and jobs for it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from promptls.rendering.job import RenderJob
from promptls.rendering.worker import Limits, RenderWorker

MakeJob = Callable[..., RenderJob]


@pytest.fixture
def make_job(tmp_path: Path) -> MakeJob:
    def make(text: str, **fields: Any) -> RenderJob:
        return RenderJob(path=str(tmp_path / "prompt.yml.j2"), text=text, **fields)

    return make


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def worker() -> AsyncIterator[RenderWorker]:
    made = RenderWorker(Limits())
    yield made
    await made.close()
