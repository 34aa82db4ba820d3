"""Answers out of the cache, or asked for once however many want them at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from promptls.experiments.answer_cache import AnswerCache
from promptls.models.model import Completion


class KeptAnswers:
    """Stands before a run's models; without a `cache`, everything is asked for."""

    def __init__(self, cache: AnswerCache | None) -> None:
        self._cache = cache
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
    ) -> tuple[Completion, bool]:
        """The answer to the messages, and whether it came out of the cache; raises what `complete` does."""
        if key is None or self._cache is None:
            return await complete(), False
        while (before := self._under_way.get(key)) is not None:
            await before.wait()
        if (kept := self._cache.get(key)) is not None:
            return kept, True
        done = self._under_way[key] = asyncio.Event()
        try:
            completion = await complete()
            # It is kept before it is scored: what was paid for survives whatever a metric does.
            self._cache.put(key, completion, digest, messages)
            return completion, False
        finally:
            del self._under_way[key]
            done.set()
