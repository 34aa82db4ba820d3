"""Long work on the event loop, cut into slices between which other messages are handled."""

from __future__ import annotations

import asyncio
import time
from typing import Final

SLICE_SECONDS: Final = 0.004
"""How long work may keep other messages waiting at a time."""


class Slices:
    """Lets others go on when a slice is used up; work that is cancelled ends there.

    A thread would be slower: it and the requests would wait for one another at every step.
    """

    def __init__(self) -> None:
        self._begun = time.perf_counter()

    async def pause(self) -> None:
        """Let what waits go ahead, where the slice is used up."""
        if time.perf_counter() - self._begun > SLICE_SECONDS:
            await asyncio.sleep(0)
            self._begun = time.perf_counter()
