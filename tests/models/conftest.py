from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from promptls.models import retrying
from support.model_server import ModelServer, model_server


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as running:
        yield running


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Record the seconds between attempts instead of waiting."""
    waited: list[float] = []
    sleep = asyncio.sleep

    async def at_once(seconds: float) -> None:
        waited.append(seconds)
        await sleep(0)

    monkeypatch.setattr(retrying, "_sleep", at_once)
    return waited
