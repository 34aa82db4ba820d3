"""How fast a provider may be asked: requests and tokens a minute, and pauses that it asks for itself."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from promptls.models.model import ModelError

if TYPE_CHECKING:
    from aiolimiter import AsyncLimiter

MINUTE = 60.0

# The part of a minute's allowance that may go out at once: providers count shorter times than minutes too.
BURST = 20


class Pace:
    """What every request to one provider waits for.

    A minute's allowance is given out evenly after a first burst. Waiting is cancelled with its task.
    """

    def __init__(
        self, *, requests_per_minute: float | None = None, tokens_per_minute: float | None = None
    ) -> None:
        self._requests = _limiter(requests_per_minute)
        self._tokens = _limiter(tokens_per_minute)
        self._resume = 0.0

    async def turn(self, tokens: int) -> None:
        """The next request, of about so many tokens, may go out."""
        if self._requests is not None:
            await self._requests.acquire()
        if self._tokens is not None and tokens > 0:
            # A request larger than the burst goes out when the whole burst is free.
            await self._tokens.acquire(min(float(tokens), self._tokens.max_rate))
        while (wait := self._resume - time.monotonic()) > 0:  # noqa: ASYNC110 - the end may be put off
            await asyncio.sleep(wait)

    def pause(self, seconds: float) -> None:
        """No request goes out for so many seconds."""
        self._resume = max(self._resume, time.monotonic() + seconds)


def _limiter(per_minute: float | None) -> AsyncLimiter | None:
    if per_minute is None:
        return None
    try:
        from aiolimiter import AsyncLimiter
    except ImportError:
        raise ModelError(
            "`rate_limits` need the package `aiolimiter`", 'run `pip install "promptls[remote]"`'
        ) from None
    burst = max(1.0, per_minute / BURST)
    return AsyncLimiter(burst, MINUTE * burst / per_minute)
