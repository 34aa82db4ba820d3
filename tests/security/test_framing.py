"""Byte streams with invalid framing, for `Framing` and for the real server."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptls.server.stdio import MAX_HEADER_BYTES, MAX_MESSAGE_BYTES, Framing

PATIENCE = 30.0
BODY = b'{"text": "\xf0\x9f\x8e\x89"}'
FRAME = b"Content-Length: %d\r\n\r\n%b" % (len(BODY), BODY)

BROKEN = {
    "a negative length": b"Content-Length: -5\r\n\r\n",
    "a length with a sign": b"Content-Length: +2\r\n\r\n{}",
    "a length in hexadecimal": b"Content-Length: 0x2\r\n\r\n{}",
    "a length with digits of another script": "Content-Length: \u0662\r\n\r\n{}".encode(),
    "a length with a unit": b"Content-Length: 2 bytes\r\n\r\n{}",
    "two lengths in one line": b"Content-Length: 2, 2\r\n\r\n{}",
    "an empty length": b"Content-Length: \r\n\r\n{}",
    "no length": b"Content-Type: application/json\r\n\r\n{}",
    "no header": b"\r\n{}",
    "two equal lengths": b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
    "two lengths": b"Content-Length: 2\r\ncontent-length: 4\r\n\r\n{}",
    "a length above the limit": b"Content-Length: %d\r\n\r\n" % (MAX_MESSAGE_BYTES + 1),
    "a length of 5,000 digits": b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n",
    "lines that end in LF": b"Content-Length: 2\n\n{}",
    "one line that ends in LF": b"Content-Length: 2\r\nContent-Type: a\n\r\n{}",
    "lines that end in CR": b"Content-Length: 2\r\r{}",
    "a space before the colon": b"Content-Length : 2\r\n\r\n{}",
    "a space before the name": b" Content-Length: 2\r\n\r\n{}",
    "a folded line": b"Content-Length: 2\r\n 2\r\n\r\n{}",
    "another header": b"X-Odd: 1\r\nContent-Length: 2\r\n\r\n{}",
    "words": b"nonsense\r\n\r\n" + FRAME,
    "words without a line end": b"nonsense",
    "JSON without a header": BODY,
    "a NUL": b"\0" + FRAME,
    "a byte order mark": b"\xef\xbb\xbf" + FRAME,
    "a header without an end": b"Content-Type: " + b"a" * MAX_HEADER_BYTES,
    "a second header where a message is announced": b"Content-Length: 60000000\r\n\r\n" + FRAME,
    "a second header after a message": b"Content-Length: 60000000\r\n\r\n" + BODY + FRAME,
    "a request over HTTP": b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 17\r\n\r\n" + BODY,
    "a method that no standard names": b"FOO / HTTP/1.1\r\n\r\n" + FRAME,
    "a method in small letters": b"patch / HTTP/1.1\r\n\r\n" + FRAME,
    "an empty line and a request over HTTP": b"\r\nPOST / HTTP/1.1\r\n\r\n" + FRAME,
    "a method that begins as a header does": b"CONTENT / HTTP/1.1\r\n\r\n" + FRAME,
    "the beginning of TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
}
BROKEN_STREAMS = pytest.mark.parametrize("stream", BROKEN.values(), ids=BROKEN.keys())


def read(pieces: Iterable[bytes]) -> tuple[list[bytes], bool]:
    """Return the bodies of a stream that arrives in pieces, and whether it is broken."""
    framing = Framing()
    return [body for piece in pieces for body in framing.bodies(piece)], framing.error is not None


@st.composite
def segments(draw: st.DrawFn, stream: bytes) -> list[bytes]:
    """Return the stream cut at arbitrary places."""
    cuts = sorted(draw(st.sets(st.integers(0, len(stream)), max_size=12)))
    return [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]


HEADER_PIECES = st.sampled_from(
    [
        *(b"Content-Length", b"content-length", b"Content-Type", b"X-Odd", b"POST / HTTP/1.1"),
        *(
            b":",
            b": ",
            b" ",
            b"\t",
            b"\r\n",
            b"\n",
            b"\r",
            b"\r\n\r\n",
            b"2",
            b"17",
            b"-5",
            b"0x2",
            b"",
            b"\0",
        ),
        *(b"Content-Length: 2\r\n", b"Content-Length: 2\r\n\r\n{}", BODY, FRAME, b"{}"),
    ]
)


@given(st.lists(st.binary(max_size=40), max_size=5), st.data())
def test_messages_are_complete_for_any_chunking_of_the_stream(
    bodies: list[bytes], data: st.DataObject
) -> None:
    stream = b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(body), body) for body in bodies)

    assert read(data.draw(segments(stream))) == (bodies, False)


@given(st.lists(HEADER_PIECES, max_size=12).map(b"".join), st.data())
def test_a_stream_is_read_the_same_way_for_any_chunking(stream: bytes, data: st.DataObject) -> None:
    assert read(data.draw(segments(stream))) == read([stream])


@given(
    st.sampled_from([b"Content-Length", b"content-length", b"CONTENT-LENGTH", b"CoNtEnT-lEnGtH"]),
    st.sampled_from([b"", b" ", b"\t", b"   "]),
    st.sampled_from(
        [b"", b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n", b"content-type:\r\n"]
    ),
    st.booleans(),
    st.data(),
)
def test_every_spelling_of_a_good_header_is_read(
    name: bytes, blank: bytes, other: bytes, is_behind: bool, data: st.DataObject
) -> None:
    length = b"%b:%b%d%b\r\n" % (name, blank, len(BODY), blank)
    frame = (length + other if is_behind else other + length) + b"\r\n" + BODY

    assert read(data.draw(segments(FRAME + frame + FRAME))) == ([BODY] * 3, False)


@BROKEN_STREAMS
def test_a_broken_stream_is_found_without_waiting_for_more(stream: bytes) -> None:
    for pieces in ([FRAME + stream], [FRAME, *(bytes([byte]) for byte in stream)]):
        assert read(pieces) == ([BODY], True)


@BROKEN_STREAMS
def test_nothing_behind_a_broken_header_is_read(stream: bytes) -> None:
    framing = Framing()
    framing.bodies(stream)

    assert framing.bodies(FRAME) == []


@given(st.binary(min_size=1, max_size=30))
def test_the_error_quotes_nothing_of_the_stream(line: bytes) -> None:
    framing = Framing()
    framing.bodies(b"secret: " + line + b"\r\n\r\n")

    assert framing.error == "a header line is neither `Content-Length` nor `Content-Type`"


@pytest.mark.parametrize("name", [b"Content-Length", b"content-length"])
def test_a_header_behind_a_length_that_never_arrives_is_found(name: bytes) -> None:
    framing = Framing()

    assert framing.bodies(b"Content-Length: 60000000\r\n\r\n{}" + name + b": 2\r\n\r\n{}") == []
    assert framing.error is not None


def test_a_document_about_headers_is_no_header() -> None:
    body = json.dumps({"text": "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello" * 99}).encode()
    frame = b"Content-Length: %d\r\n\r\n%b" % (len(body), body)

    assert read([frame[:500], frame[500:]]) == ([body], False)


def test_each_byte_of_a_long_message_is_searched_about_once() -> None:
    searched = 0

    class Counted(bytearray):
        def find(self, *arguments: Any) -> int:
            nonlocal searched
            searched += arguments[2] - arguments[1]
            return super().find(*arguments)

    framing = Framing()
    framing._waiting = Counted()  # type: ignore[misc]
    length = 1 << 22
    framing.bodies(b"Content-Length: %d\r\n\r\n" % length)
    for _ in range(length // (1 << 16) - 1):
        framing.bodies(b" " * (1 << 16))

    assert searched < 1.1 * length


async def served(stream: bytes, root: Path) -> tuple[list[Any], int | None, str]:
    """Return the server's answers to `initialize` and the stream, its exit code and its log.

    The client does not close its end, like an editor.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "promptls", "server", "--stdio", stdin=-1, stdout=-1, stderr=-1
    )
    assert process.stdin is not None
    params = {"processId": None, "rootUri": root.as_uri(), "capabilities": {}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).encode()
    process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body) + stream)
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        reading = asyncio.gather(process.stdout.read(), process.stderr.read(), process.wait())
        answers, errors, code = await asyncio.wait_for(reading, PATIENCE)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    bodies, _ = read([answers])
    return [json.loads(body) for body in bodies], code, errors.decode()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("a negative length", "a `Content-Length` is not a number of bytes"),
        ("no length", "a header has no `Content-Length`"),
        ("a length above the limit", "67,108,865 bytes, and the limit is 67,108,864"),
        ("lines that end in LF", "a header line does not end in CR LF"),
        ("words without a line end", "neither `Content-Length` nor `Content-Type`"),
        ("a second header where a message is announced", "a header begins inside a message"),
    ],
)
async def test_the_server_answers_what_is_wrong_with_the_stream_and_ends(
    name: str, reason: str, tmp_path: Path
) -> None:
    answers, code, errors = await served(BROKEN[name], tmp_path)

    assert [answer["id"] for answer in answers] == [1, None]
    assert answers[1]["error"]["code"] == -32700
    assert reason in answers[1]["error"]["message"]
    assert code == 1
    (line,) = errors.splitlines()
    assert line.startswith("promptls: the standard input cannot be read further: ")
    assert reason in line
