from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from typing import Any

import pytest

from promptls.models import openai_compatible
from promptls.models.model import Completion, ModelError
from promptls.models.openai_compatible import OpenAiCompatible
from support.model_server import ModelServer, Reply, model_server

KEY = "sk-planted-0123456789abcdef"
MESSAGES = [{"role": "user", "content": "hello"}]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as running:
        yield running


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that are waited between attempts, none of which really pass."""
    waited: list[float] = []
    sleep = asyncio.sleep

    async def at_once(seconds: float) -> None:
        waited.append(seconds)
        await sleep(0)

    monkeypatch.setattr(openai_compatible.asyncio, "sleep", at_once)
    return waited


async def ask(
    server: ModelServer, *, schema: dict[str, Any] | None = None, key: str | None = KEY, **parameters: Any
) -> Completion:
    model = OpenAiCompatible("small", base_url=server.url, key=key)
    try:
        return await model.complete(MESSAGES, parameters=parameters, json_schema=schema)
    finally:
        await model.close()


async def test_the_answer_comes_with_its_usage(server: ModelServer) -> None:
    server.reply = lambda _body: Reply("hi")
    completion = await ask(server, temperature=0, max_tokens=5)
    assert (completion.text, completion.input_tokens, completion.output_tokens) == ("hi", 7, 3)
    assert server.requests == [{"model": "small", "messages": MESSAGES, "temperature": 0, "max_tokens": 5}]
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"


async def test_a_schema_is_sent_as_response_format(server: ModelServer) -> None:
    await ask(server, schema={"type": "object"})
    assert server.requests[0]["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": {"type": "object"}},
    }


async def test_a_server_without_a_key_gets_no_authorization(server: ModelServer) -> None:
    await ask(server, key=None)
    assert "Authorization" not in server.headers[0]


async def test_a_busy_server_is_asked_again_after_the_time_that_it_names(
    server: ModelServer, waits: list[float]
) -> None:
    server.queue = [Reply(status=429, headers={"Retry-After": "3"}, raw=b"{}"), Reply("later")]
    assert (await ask(server)).text == "later"
    assert waits == [3.0]


async def test_a_retry_after_may_be_a_date(server: ModelServer, waits: list[float]) -> None:
    date = format_datetime(datetime.now(timezone.utc) + timedelta(seconds=20), usegmt=True)
    server.queue = [Reply(status=503, headers={"Retry-After": date}, raw=b"{}"), Reply("later")]
    assert (await ask(server)).text == "later"
    assert 15 < waits[0] <= 20


async def test_a_broken_server_is_asked_again_with_growing_waits_and_then_given_up(
    server: ModelServer, waits: list[float]
) -> None:
    server.reply = lambda _body: Reply(status=500, raw=b'{"error": {"message": "out of memory"}}')
    with pytest.raises(ModelError, match="HTTP 500: “out of memory”") as failure:
        await ask(server)
    assert failure.value.retryable
    assert len(server.requests) == openai_compatible.MOST_ATTEMPTS
    assert len(waits) == openai_compatible.MOST_ATTEMPTS - 1
    assert all(0.25 * 2**index <= wait <= 0.5 * 2**index for index, wait in enumerate(waits))


async def test_a_server_that_wants_an_hour_is_given_up_at_once(
    server: ModelServer, waits: list[float]
) -> None:
    server.reply = lambda _body: Reply(status=429, headers={"Retry-After": "3600"}, raw=b"{}")
    with pytest.raises(ModelError, match="HTTP 429"):
        await ask(server)
    assert waits == []
    assert len(server.requests) == 1


async def test_a_cut_connection_is_tried_again(server: ModelServer, waits: list[float]) -> None:
    server.queue = [Reply("half", cut=True), Reply("whole")]
    assert (await ask(server)).text == "whole"
    assert len(waits) == 1


async def test_a_wrong_request_is_not_repeated(server: ModelServer, waits: list[float]) -> None:
    server.reply = lambda _body: Reply(status=400, raw=b'{"error": {"message": "bad temperature"}}')
    with pytest.raises(ModelError, match="bad temperature") as failure:
        await ask(server)
    assert not failure.value.retryable
    assert len(server.requests) == 1


@pytest.mark.parametrize("raw", [b"<html>hello</html>", b"[]", b'{"choices": []}', b"\xff\xfe", b""])
async def test_an_answer_that_is_no_completion_is_said_to_be_none(server: ModelServer, raw: bytes) -> None:
    server.reply = lambda _body: Reply(raw=raw)
    with pytest.raises(ModelError, match="no chat completion") as failure:
        await ask(server)
    assert "/v1" in failure.value.remedy


async def test_an_answer_without_an_end_is_left(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_compatible, "LONGEST_ANSWER", 1000)
    server.reply = lambda _body: Reply(raw=b"x" * 5000)
    with pytest.raises(ModelError, match="without an end"):
        await ask(server)


async def test_nothing_that_listens_is_said_with_the_address(waits: list[float]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    model = OpenAiCompatible("small", base_url=url)
    with pytest.raises(ModelError, match=f"nothing answers at `{url}`") as failure:
        await model.complete(MESSAGES, parameters={}, json_schema=None)
    assert "start the server" in failure.value.remedy
    assert waits == []
    await model.close()


@pytest.mark.parametrize("url", ["localhost:1", "ftp://host/v1", ""])
async def test_an_address_that_is_none_is_a_clear_error(url: str) -> None:
    with pytest.raises(ModelError, match="is no address"):
        await OpenAiCompatible("small", base_url=url).complete(MESSAGES, parameters={}, json_schema=None)


async def test_a_cancelled_request_ends_at_once(server: ModelServer) -> None:
    held = threading.Event()
    server.reply = lambda _body: Reply(wait=held)
    asked = asyncio.create_task(ask(server))
    await asyncio.to_thread(server.asked.wait, 5)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(asked, 2)
    held.set()


@pytest.mark.parametrize(
    "reply",
    [
        Reply(status=401, raw=f'{{"error": {{"message": "Incorrect API key provided: {KEY}"}}}}'.encode()),
        Reply(status=401, raw=b'{"error": {"message": "Incorrect API key provided: sk-plant********cdef"}}'),
        Reply(status=500, raw=f"trace: Authorization: Bearer {KEY}".encode()),
        Reply(status=400, raw=KEY.encode()),
        Reply(raw=f"no json, but {KEY}".encode()),
        Reply(raw=KEY.encode(), cut=True),
    ],
)
async def test_the_key_is_in_no_error(server: ModelServer, waits: list[float], reply: Reply) -> None:
    server.reply = lambda _body: reply
    with pytest.raises(ModelError) as failure:
        await ask(server)
    chain = [failure.value, failure.value.__cause__, failure.value.__context__]
    told = " ".join(f"{error!r} {error} {getattr(error, 'remedy', '')}" for error in chain)
    assert KEY not in told
    assert "cdef" not in told


async def test_an_answer_that_repeats_the_key_is_masked(server: ModelServer) -> None:
    server.reply = lambda _body: Reply(f"your key is {KEY}")
    assert (await ask(server)).text == "your key is [key]"


async def test_a_key_that_no_header_can_carry_is_refused_without_being_told(server: ModelServer) -> None:
    with pytest.raises(ModelError) as failure:
        await ask(server, key="planted\nkey€")
    assert "planted" not in f"{failure.value} {failure.value.__context__!r} {failure.value.remedy}"


async def test_an_address_is_shown_without_the_password_in_it() -> None:
    model = OpenAiCompatible("small", base_url="http://me:planted@127.0.0.1:1/v1?token=planted")
    with pytest.raises(ModelError) as failure:
        await model.complete(MESSAGES, parameters={}, json_schema=None)
    assert "planted" not in f"{failure.value} {failure.value.remedy}"
    await model.close()
