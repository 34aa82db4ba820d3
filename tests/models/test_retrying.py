from __future__ import annotations

import asyncio
import time

import pytest

from promptls.models import retrying
from promptls.models.masking import KeyMask
from promptls.models.model import Completion, ModelError
from promptls.models.openai_compatible import OpenAiCompatible
from promptls.models.retrying import RateLimiter, RetryingModel
from support.model_server import ModelServer, Reply, model_server

MESSAGES = [{"role": "user", "content": "hello"}]
BUSY = Reply(status=500, raw=b'{"error": {"message": "out of memory"}}')


class Unpaused(RateLimiter):
    """A rate limiter that records its pauses instead of waiting."""

    def __init__(self) -> None:
        super().__init__()
        self.pauses: list[float] = []

    def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)


def retrying_model(
    url: str,
    rate_limiter: RateLimiter | None = None,
    timeout: float | None = None,
    mask: tuple[str, ...] = (),
) -> RetryingModel:
    model = OpenAiCompatible("small", base_url=url)
    return RetryingModel(
        model, "office", rate_limiter=rate_limiter or Unpaused(), mask=KeyMask(mask), timeout=timeout
    )


async def ask(model: RetryingModel) -> Completion:
    try:
        return await model.complete(MESSAGES, parameters={}, json_schema=None)
    finally:
        await model.close()


async def test_a_busy_server_is_asked_again_after_the_time_that_it_names(
    server: ModelServer, waits: list[float]
) -> None:
    server.queue = [Reply(status=429, headers={"Retry-After": "3"}, raw=b"{}"), Reply("later")]
    rate_limiter = Unpaused()
    assert (await ask(retrying_model(server.url, rate_limiter))).text == "later"
    assert waits == [3.0]
    assert rate_limiter.pauses == [3.0]


async def test_a_broken_server_is_asked_again_with_growing_waits_and_then_given_up(
    server: ModelServer, waits: list[float]
) -> None:
    server.reply = lambda _body: BUSY
    with pytest.raises(ModelError, match="HTTP 500: “out of memory”"):
        await ask(retrying_model(server.url))
    assert len(server.requests) == retrying.MAX_ATTEMPTS
    assert len(waits) == retrying.MAX_ATTEMPTS - 1
    assert all(0.25 * 2**index <= wait <= 0.5 * 2**index for index, wait in enumerate(waits))


async def test_a_server_that_wants_an_hour_is_given_up_at_once(
    server: ModelServer, waits: list[float]
) -> None:
    server.reply = lambda _body: Reply(status=429, headers={"Retry-After": "3600"}, raw=b"{}")
    with pytest.raises(ModelError, match="HTTP 429"):
        await ask(retrying_model(server.url))
    assert (waits, len(server.requests)) == ([], 1)


async def test_a_wrong_request_is_sent_once(server: ModelServer, waits: list[float]) -> None:
    server.reply = lambda _body: Reply(status=400, raw=b"{}")
    with pytest.raises(ModelError):
        await ask(retrying_model(server.url))
    assert (waits, len(server.requests)) == ([], 1)


async def test_a_server_that_was_never_there_is_not_waited_for(waits: list[float]) -> None:
    with pytest.raises(ModelError, match="nothing answers"):
        await ask(retrying_model("http://127.0.0.1:9/v1"))
    assert waits == []


async def test_a_server_that_has_disappeared_is_retried(waits: list[float]) -> None:
    with model_server() as server:
        model = retrying_model(server.url)
        await model.complete(MESSAGES, parameters={}, json_schema=None)
        server.reply = lambda _body: Reply("x", cut=True)
    with pytest.raises(ModelError):
        await ask(model)
    assert len(waits) == retrying.MAX_ATTEMPTS - 1


async def test_an_answer_that_takes_too_long_is_not_asked_for_twice(
    server: ModelServer, waits: list[float]
) -> None:
    import threading

    never = threading.Event()
    server.reply = lambda _body: Reply(wait=never)
    with pytest.raises(ModelError, match=r"did not answer within 0.5 seconds"):
        await ask(retrying_model(server.url, timeout=0.5))
    never.set()
    assert (waits, len(server.requests)) == ([], 1)


async def test_a_stream_without_an_end_is_cut_at_the_timeout(server: ModelServer) -> None:
    server.reply = lambda _body: Reply(endless=b" ")
    with pytest.raises(ModelError, match=r"did not answer within 0.3 seconds"):
        await ask(retrying_model(server.url, timeout=0.3))


async def test_no_secret_comes_out_of_an_answer_or_an_error(server: ModelServer) -> None:
    server.queue = [Reply("it is planted-secret"), Reply(status=400, raw=b"planted-secret")]
    model = retrying_model(server.url, mask=("planted-secret",))
    answer = await model.complete(MESSAGES, parameters={}, json_schema=None)
    assert answer.text == "it is [key]"
    with pytest.raises(ModelError) as failure:
        await ask(model)
    assert "planted" not in f"{failure.value} {failure.value.remedy}"


async def test_requests_keep_to_the_pace_of_a_minute() -> None:
    rate_limiter = RateLimiter(requests_per_minute=20 * 60)
    began = time.monotonic()
    for _ in range(64):
        await rate_limiter.wait(0)
    # 60 go out at once, and then 20 a second.
    assert time.monotonic() - began >= 0.15


async def test_tokens_keep_to_the_pace_of_a_minute() -> None:
    rate_limiter = RateLimiter(tokens_per_minute=60_000)
    began = time.monotonic()
    for _ in range(4):
        await rate_limiter.wait(1000)
    # 3,000 go out at once, and then 1,000 a second.
    assert time.monotonic() - began >= 0.9


async def test_a_pause_delays_every_request() -> None:
    rate_limiter = RateLimiter()
    rate_limiter.pause(0.2)
    began = time.monotonic()
    await asyncio.gather(*(rate_limiter.wait(1) for _ in range(5)))
    assert time.monotonic() - began >= 0.19
