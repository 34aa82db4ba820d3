"""Rate limiting, and retries of temporary failures."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from promptls.models.masking import KeyMask
from promptls.models.model import (
    Completion,
    Messages,
    Model,
    ModelError,
    StreamingModel,
    compares_labels,
    likeliest_label,
)

if TYPE_CHECKING:
    from aiolimiter import AsyncLimiter
    from tenacity import RetryCallState

MINUTE = 60.0

BURST = 20
"""Burst size as a fraction of the limit per minute: providers also enforce limits over shorter periods."""


class RateLimiter:
    """The rate limiter shared by all requests to a provider.

    After an initial burst, requests are spread evenly over the minute. Waiting is cancelled with its task.
    """

    def __init__(
        self, *, requests_per_minute: float | None = None, tokens_per_minute: float | None = None
    ) -> None:
        self._requests = _limiter(requests_per_minute)
        self._tokens = _limiter(tokens_per_minute)
        self._resume = 0.0

    async def wait(self, tokens: int) -> None:
        """Wait until a request of about this many tokens may be sent."""
        if self._requests is not None:
            await self._requests.acquire()
        if self._tokens is not None and tokens > 0:
            # A request larger than the burst is sent when the whole burst is available.
            await self._tokens.acquire(min(float(tokens), self._tokens.max_rate))
        while (wait := self._resume - time.monotonic()) > 0:  # noqa: ASYNC110 - the pause may be extended
            await asyncio.sleep(wait)

    def pause(self, seconds: float) -> None:
        """Hold back all requests for this many seconds."""
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


# Maximum number of attempts per request, and the longest wait in seconds between attempts.
MAX_ATTEMPTS = 5
LONGEST_WAIT = 60.0
FIRST_WAIT = 0.5

CHARACTERS_A_TOKEN = 4
"""Approximate characters per token."""


_Answer = TypeVar("_Answer")


class Retrier:
    """Sends requests within the rate limit, with up to five attempts; `mask` removes secrets from errors.

    An attempt may take `timeout` seconds, excluding the wait for the rate limit. An attempt that takes longer
    is not repeated, because the provider may charge for it.
    """

    def __init__(
        self, name: str, *, rate_limiter: RateLimiter | None, mask: KeyMask, timeout: float | None = None
    ) -> None:
        self._name = name
        self._rate_limiter = rate_limiter or RateLimiter()
        self._mask = mask
        self._timeout = timeout
        self._has_answered = False

    async def ask(
        self,
        attempt: Callable[[], Awaitable[_Answer]],
        tokens: int,
        before: Callable[[], None] | None = None,
    ) -> _Answer:
        """Return the result of `attempt`, which takes about `tokens`.

        Raises `ModelError` if the last attempt fails.

        `before` is called once, immediately before the first attempt; its exceptions are propagated.
        """
        from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt

        attempts = AsyncRetrying(
            stop=stop_after_attempt(MAX_ATTEMPTS),
            wait=_wait,
            retry=retry_if_exception(self._is_retryable),
            sleep=_sleep,
            reraise=True,
        )
        try:
            async for each in attempts:
                with each:
                    await self._rate_limiter.wait(tokens)
                    if before is not None and each.retry_state.attempt_number == 1:
                        before()
                    return await self._attempt(attempt)
        except ModelError as error:
            raise self._masked(error) from None
        raise AssertionError("the last attempt returns or raises")

    async def _attempt(self, attempt: Callable[[], Awaitable[_Answer]]) -> _Answer:
        try:
            answer = await asyncio.wait_for(attempt(), self._timeout)
        except asyncio.TimeoutError:
            raise ModelError(
                f"`{self._name}` did not answer within {self._timeout:g} seconds",
                "set a longer `timeout` in the experiment, or ask for shorter answers with `max_tokens`",
            ) from None
        except ModelError as error:
            if error.retry_after is not None and error.retry_after <= LONGEST_WAIT:
                # The provider is overloaded: further requests in the meantime would make it worse.
                self._rate_limiter.pause(error.retry_after)
            raise
        self._has_answered = True
        return answer

    def _is_retryable(self, error: BaseException) -> bool:
        if not isinstance(error, ModelError) or not error.retryable:
            return False
        if error.unreachable and not self._has_answered:
            # A server that was never reachable is unlikely to start now.
            return False
        return error.retry_after is None or error.retry_after <= LONGEST_WAIT

    def _masked(self, error: ModelError) -> ModelError:
        return ModelError(
            self._mask.mask(error.message),
            None if error.remedy is None else self._mask.mask(error.remedy),
            retryable=error.retryable,
            retry_after=error.retry_after,
            unreachable=error.unreachable,
        )


class RetryingModel:
    """Calls `model` within the rate limit, with retries; `mask` removes secrets from answers and errors."""

    def __init__(
        self,
        model: Model,
        name: str,
        *,
        rate_limiter: RateLimiter | None,
        mask: KeyMask,
        timeout: float | None = None,
    ) -> None:
        self._model = model
        self._name = name
        self._mask = mask
        self._retrier = Retrier(name, rate_limiter=rate_limiter, mask=mask, timeout=timeout)

    @property
    def max_at_once(self) -> int | None:
        """How many requests the model works on at a time; None is as many as come."""
        return self._model.max_at_once

    async def complete(
        self,
        messages: Messages,
        *,
        parameters: Mapping[str, Any],
        json_schema: Mapping[str, Any] | None,
        before: Callable[[], None] | None = None,
    ) -> Completion:
        """Return the model's answer; raises `ModelError` if the last attempt fails.

        `before` is called once, immediately before the first request is sent.
        """
        completion = await self._retrier.ask(
            (lambda: likeliest_label(self._model, self._name, messages))
            if compares_labels(messages)
            else lambda: self._model.complete(messages, parameters=parameters, json_schema=json_schema),
            estimate_tokens(messages, parameters),
            before,
        )
        said = (completion.text, completion.finish_reason, completion.model)
        text, reason, model = masked = tuple(map(self._mask.mask, said))
        return (
            completion
            if masked == said
            else replace(completion, text=text, finish_reason=reason, model=model)
        )

    async def stream(
        self,
        messages: Messages,
        *,
        parameters: Mapping[str, Any],
        json_schema: Mapping[str, Any] | None,
        on_text: Callable[[str], None],
    ) -> Completion:
        """Return the same answer as `complete`; `on_text` receives its chunks as they arrive.

        Models that cannot stream send a single chunk. There are no retries once a chunk was delivered.
        """
        if not isinstance(self._model, StreamingModel) or compares_labels(messages):
            completion = await self.complete(messages, parameters=parameters, json_schema=json_schema)
            on_text(completion.text)
            return completion
        forwarder = _WordBuffer(self._mask, on_text)
        completion = await self._model.stream(
            messages, parameters=parameters, json_schema=json_schema, on_text=forwarder.add
        )
        forwarder.close()
        return replace(completion, text=self._mask.mask(completion.text))

    async def close(self) -> None:
        """Free the model's memory."""
        await self._model.close()


class _WordBuffer:
    """Forwards text in whole words, so that secrets in it are recognized."""

    def __init__(self, mask: KeyMask, on_text: Callable[[str], None]) -> None:
        self._mask = mask
        self._on_text = on_text
        self._rest = ""

    def add(self, piece: str) -> None:
        """Forward the complete words."""
        text = self._rest + piece
        end = max(text.rfind(" "), text.rfind("\n")) + 1
        self._rest = text[end:]
        if end:
            self._on_text(self._mask.mask(text[:end]))

    def close(self) -> None:
        """Forward the rest."""
        if self._rest:
            self._on_text(self._mask.mask(self._rest))


def _wait(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome is not None else None
    if isinstance(error, ModelError) and error.retry_after is not None:
        return error.retry_after
    # Half of the delay is random, so that requests that failed together are not retried together.
    longest = min(LONGEST_WAIT, FIRST_WAIT * 2 ** (state.attempt_number - 1))
    return float(longest * (0.5 + random.random() / 2))  # noqa: S311 - not used for cryptography


async def _sleep(seconds: float) -> None:
    await asyncio.sleep(seconds)


def estimate_tokens(messages: Messages, parameters: Mapping[str, Any] | None = None) -> int:
    """Estimate the tokens of a request: those of the prompt, and of the longest answer that it allows."""
    longest = (parameters or {}).get("max_tokens")
    characters = sum(len(str(message.get("content") or "")) for message in messages)
    return characters // CHARACTERS_A_TOKEN + (longest if isinstance(longest, int) else 0)
