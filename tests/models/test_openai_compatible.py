from __future__ import annotations

import asyncio
import socket
import threading
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from typing import Any

import pytest

from promptls.models import openai_compatible
from promptls.models.model import Completion, ModelError
from promptls.models.openai_compatible import OpenAiCompatible
from support.model_server import ModelServer, Reply

KEY = "sk-planted-0123456789abcdef"
MESSAGES = [{"role": "user", "content": "hello"}]


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


@pytest.mark.parametrize(
    ("status", "headers", "remedy"),
    [
        (429, {"Retry-After": "7200"}, "wait 2 hours, as the server asks"),
        (503, {"Retry-After": "600"}, "wait 10 minutes, as the server asks"),
        (429, {"Retry-After": "2"}, "the server is busy or broken: run again later"),
        (302, {"Location": "/elsewhere"}, "check `base_url`: the server redirects to another address"),
        (400, {}, "whether the prompt is too long for the model"),
    ],
)
async def test_a_refusal_says_what_to_do(
    server: ModelServer, status: int, headers: dict[str, str], remedy: str
) -> None:
    server.reply = lambda _body: Reply(status=status, headers=headers, raw=b"{}")
    model = OpenAiCompatible("small", base_url=server.url)
    with pytest.raises(ModelError) as failure:
        await model.complete([{"role": "user", "content": "hi"}], parameters={}, json_schema=None)
    await model.close()
    assert remedy in str(failure.value.remedy)


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 529])
async def test_a_busy_or_broken_server_may_be_asked_again(server: ModelServer, status: int) -> None:
    server.reply = lambda _body: Reply(status=status, raw=b'{"error": {"message": "out of memory"}}')
    with pytest.raises(ModelError, match=f"HTTP {status}: “out of memory”") as failure:
        await ask(server)
    assert (failure.value.retryable, failure.value.retry_after) == (True, None)
    assert len(server.requests) == 1


async def test_the_retry_time_of_a_busy_server_is_reported(server: ModelServer) -> None:
    server.reply = lambda _body: Reply(status=429, headers={"Retry-After": "3"}, raw=b"{}")
    with pytest.raises(ModelError) as failure:
        await ask(server)
    assert failure.value.retry_after == 3.0


async def test_a_retry_after_may_be_a_date(server: ModelServer) -> None:
    date = format_datetime(datetime.now(timezone.utc) + timedelta(seconds=20), usegmt=True)
    server.reply = lambda _body: Reply(status=503, headers={"Retry-After": date}, raw=b"{}")
    with pytest.raises(ModelError) as failure:
        await ask(server)
    assert 15 < failure.value.retry_after <= 20


async def test_an_empty_account_is_not_asked_again(server: ModelServer) -> None:
    server.reply = lambda _body: Reply(
        status=429, raw=b'{"error": {"message": "pay", "code": "insufficient_quota"}}'
    )
    with pytest.raises(ModelError) as failure:
        await ask(server)
    assert not failure.value.retryable


async def test_a_cut_connection_may_be_tried_again(server: ModelServer) -> None:
    server.reply = lambda _body: Reply("half", cut=True)
    with pytest.raises(ModelError, match=r"connection to .* broke") as failure:
        await ask(server)
    assert failure.value.retryable


async def test_a_wrong_request_is_not_worth_repeating(server: ModelServer) -> None:
    server.reply = lambda _body: Reply(status=400, raw=b'{"error": {"message": "bad temperature"}}')
    with pytest.raises(ModelError, match="bad temperature") as failure:
        await ask(server)
    assert not failure.value.retryable


async def test_a_schema_that_leaves_nothing_open_is_sent_as_strict(server: ModelServer) -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "array", "items": {"type": "string"}}},
        "required": ["a"],
        "additionalProperties": False,
    }
    await ask(server, schema=schema)
    assert server.requests[0]["response_format"]["json_schema"]["strict"] is True


@pytest.mark.parametrize("content_type", ["text/html", "text/event-stream", "application/octet-stream", ""])
async def test_what_the_server_calls_its_answer_does_not_matter(
    server: ModelServer, content_type: str
) -> None:
    server.reply = lambda _body: Reply("fine", headers={"Content-Type": content_type})
    assert (await ask(server)).text == "fine"


@pytest.mark.parametrize("value", ["inf", "nan", "soon", "1e999", "Fri, 31 Dec 9999 23:59:59 GMT"])
async def test_a_retry_after_that_is_no_time_is_ignored(server: ModelServer, value: str) -> None:
    server.reply = lambda _body: Reply(status=429, headers={"Retry-After": value}, raw=b"{}")
    with pytest.raises(ModelError) as failure:
        await ask(server)
    assert failure.value.retry_after is None
    assert "run again later" in failure.value.remedy


@pytest.mark.parametrize("usage", [b"[1, 2]", b'"many"', b"7", b'{"prompt_tokens": -7}'])
async def test_an_answer_counts_without_a_usage_that_can_be_read(server: ModelServer, usage: bytes) -> None:
    raw = b'{"choices": [{"message": {"content": "fine"}}], "usage": ' + usage + b"}"
    server.reply = lambda _body: Reply(raw=raw)
    answer = await ask(server)
    assert (answer.text, answer.input_tokens) == ("fine", None)


_NUMBER = b'{"choices": [{"message": {"content": 7}}]}'


@pytest.mark.parametrize("raw", [b"<html>hello</html>", b"[]", b'{"choices": []}', _NUMBER, b"\xff\xfe", b""])
async def test_an_answer_that_is_no_completion_is_reported(server: ModelServer, raw: bytes) -> None:
    server.reply = lambda _body: Reply(raw=raw)
    with pytest.raises(ModelError, match="not a chat completion") as failure:
        await ask(server)
    assert "/v1" in failure.value.remedy


async def test_an_answer_without_an_end_is_left(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_compatible, "LONGEST_ANSWER", 1000)
    server.reply = lambda _body: Reply(raw=b"x" * 5000)
    with pytest.raises(ModelError, match="too long"):
        await ask(server)


@pytest.mark.parametrize(
    ("scheme", "remedy"), [("http", "start the server"), ("https", "check your network connection")]
)
async def test_an_unreachable_server_is_reported_with_the_address(scheme: str, remedy: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"{scheme}://127.0.0.1:{free.getsockname()[1]}/v1"
    model = OpenAiCompatible("small", base_url=url)
    with pytest.raises(ModelError, match=f"nothing answers at `{url}`") as failure:
        await model.complete(MESSAGES, parameters={}, json_schema=None)
    assert remedy in failure.value.remedy
    assert failure.value.unreachable
    await model.close()


@pytest.mark.parametrize("url", ["localhost:1", "ftp://host/v1", ""])
async def test_an_invalid_address_is_a_clear_error(url: str) -> None:
    with pytest.raises(ModelError, match="is not an address"):
        await OpenAiCompatible("small", base_url=url).complete(MESSAGES, parameters={}, json_schema=None)


async def test_a_cancelled_request_ends_at_once(server: ModelServer) -> None:
    release = threading.Event()
    server.reply = lambda _body: Reply(wait=release)
    task = asyncio.create_task(ask(server))
    await asyncio.to_thread(server.received.wait, 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 2)
    release.set()


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
async def test_the_key_is_in_no_error(server: ModelServer, reply: Reply) -> None:
    server.reply = lambda _body: reply
    with pytest.raises(ModelError) as failure:
        await ask(server)
    chain = [failure.value, failure.value.__cause__, failure.value.__context__]
    reported = " ".join(f"{error!r} {error} {getattr(error, 'remedy', '')}" for error in chain)
    assert KEY not in reported
    assert "cdef" not in reported


async def test_an_answer_that_repeats_the_key_is_masked(server: ModelServer) -> None:
    server.reply = lambda _body: Reply(f"your key is {KEY}")
    assert (await ask(server)).text == "your key is [key]"


async def test_a_key_that_is_no_valid_header_value_is_refused_without_revealing_it(
    server: ModelServer,
) -> None:
    with pytest.raises(ModelError) as failure:
        await ask(server, key="planted\nkey€")
    assert "planted" not in f"{failure.value} {failure.value.__context__!r} {failure.value.remedy}"


async def test_an_address_is_shown_without_the_password_in_it() -> None:
    model = OpenAiCompatible("small", base_url="http://me:planted@127.0.0.1:1/v1?token=planted")
    with pytest.raises(ModelError) as failure:
        await model.complete(MESSAGES, parameters={}, json_schema=None)
    assert "planted" not in f"{failure.value} {failure.value.remedy}"
    await model.close()


async def test_an_answer_arrives_in_pieces_and_is_the_same_as_a_whole(server: ModelServer) -> None:
    events = (
        b'data: {"choices": [{"delta": {"role": "assistant"}}], "model": "small"}\r\n\r\n'
        b'data: {"choices": [{"delta": {"content": "a b"}}]}\r\n\r\n'
        b'data: {"choices": [{"delta": {"content": " c"}, "finish_reason": "length"}]}\r\n\r\n'
        b'data: {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}'
    )
    server.reply = lambda _body: Reply(raw=events)
    pieces: list[str] = []
    model = OpenAiCompatible("small", base_url=server.url, key=KEY)
    completion = await model.stream(MESSAGES, parameters={}, json_schema=None, on_text=pieces.append)
    await model.close()

    assert pieces == ["a b", " c"]
    assert (completion.text, completion.input_tokens, completion.output_tokens) == ("a b c", 7, 3)
    assert completion.finish_reason == "length"


async def test_a_server_that_sends_no_pieces_is_taken_at_its_answer(server: ModelServer) -> None:
    server.reply = lambda _body: Reply("hi")
    pieces: list[str] = []
    model = OpenAiCompatible("small", base_url=server.url, key=KEY)
    completion = await model.stream(MESSAGES, parameters={}, json_schema=None, on_text=pieces.append)
    await model.close()

    assert (pieces, completion.text) == (["hi"], "hi")
