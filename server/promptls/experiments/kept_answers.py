"""Answers out of the cache, or asked for once however many want them at the same time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from promptls.experiments.answer_cache import AnswerCache
from promptls.experiments.call_locks import CallLocks
from promptls.models.model import Completion

# Seconds between two looks whether another process has its answer, the first time and later on.
_FIRST_LOOK: Final = 0.02
_LATER_LOOKS: Final = 0.25


class KeptAnswers:
    """Stands before a run's models; without a `cache`, everything is asked for.

    Another process that asks for the same answer is waited for, but no longer than `patience` seconds: it
    may have been stopped.
    """

    def __init__(self, cache: AnswerCache | None, patience: float) -> None:
        self._cache = cache
        self._patience = patience
        self._locks = CallLocks(cache.path.parent) if cache is not None else None
        self._under_way: dict[bytes, asyncio.Event] = {}

    def has(self, key: bytes | None) -> bool:
        """Whether the answer is there; None is the key of one that is not kept."""
        return self._cache is not None and key is not None and self._cache.get(key) is not None

    async def answer(
        self,
        key: bytes | None,
        digest: str,
        messages: Sequence[Mapping[str, Any]],
        complete: Callable[[], Awaitable[Completion]],
        is_good: Callable[[Completion], bool] = lambda _completion: True,
    ) -> tuple[Completion, bool]:
        """The answer to the messages, and whether it came out of the cache; raises what `complete` does.

        An answer in the cache that is not good is asked for again.
        """
        if key is None or self._cache is None or self._locks is None:
            return await complete(), False
        while (before := self._under_way.get(key)) is not None:
            await before.wait()
        done = self._under_way[key] = asyncio.Event()
        try:
            await self._turn(key, self._locks)
            # Looked for behind the lock: what another process was asking for is there now.
            kept = self._cache.get(key)
            if kept is not None and is_good(kept):
                return kept, True
            completion = await complete()
            # It is kept before it is scored: what was paid for survives whatever a metric does.
            self._cache.put(key, completion, digest, messages)
            return completion, False
        finally:
            self._locks.free(key)
            del self._under_way[key]
            done.set()

    def close(self) -> None:
        """No other process waits for this one any more."""
        if self._locks is not None:
            self._locks.close()

    async def _turn(self, key: bytes, locks: CallLocks) -> None:
        """No other process asks for the answer, or it takes too long."""
        give_up = time.monotonic() + self._patience
        look = _FIRST_LOOK
        while not locks.take(key) and time.monotonic() < give_up:
            await asyncio.sleep(look)
            look = min(2 * look, _LATER_LOOKS)
