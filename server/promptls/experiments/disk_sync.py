"""What a run has written survives a power cut too, all but that of the last second.

A process that is killed loses nothing that it has written. Only the machine's own end can take what the
system has not brought to the disk yet; waiting for that after each row would slow a run down.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

EVERY: Final = 1.0
"""Seconds between two times that everything is brought to the disk."""


@asynccontextmanager
async def synced(*files: Callable[[], None], every: float = EVERY) -> AsyncIterator[None]:
    """While the block goes on, each of `files` is called every so many seconds, in a thread."""

    async def sync() -> None:
        while True:
            await asyncio.sleep(every)
            for file in files:
                await asyncio.to_thread(file)

    syncing = asyncio.create_task(sync())
    try:
        yield
    finally:
        syncing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await syncing
