from __future__ import annotations

import asyncio
import os
from pathlib import Path

from promptls.server.stdio import StandardInput

BODY = b'{"text": "\xf0\x9f\x8e\x89"}'
FRAME = b"Content-Length: %d\r\n\r\n%b" % (len(BODY), BODY)


async def test_messages_are_received_in_order_until_the_client_closes_the_stream() -> None:
    reading, writing = os.pipe()
    received: list[bytes] = []
    source = StandardInput(reading, received.append)
    os.write(writing, FRAME + b"Content-Length: 2\r\n\r\n{}" + FRAME)
    source.start()
    os.close(writing)

    await asyncio.wait_for(source.ended.wait(), 10)

    assert received == [BODY, b"{}", BODY]
    assert source.error is None
    os.close(reading)


async def test_a_stream_that_is_no_stream_of_messages_ends_with_an_error() -> None:
    reading, writing = os.pipe()
    received: list[bytes] = []
    source = StandardInput(reading, received.append)
    source.start()
    os.write(writing, FRAME + b"GET / HTTP/1.1\r\n")

    await asyncio.wait_for(source.ended.wait(), 10)

    assert received == [BODY]
    assert source.error is not None
    os.close(reading)
    os.close(writing)


async def test_a_file_is_read_in_a_thread(tmp_path: Path) -> None:
    file = tmp_path / "messages"
    file.write_bytes(FRAME)
    descriptor = os.open(file, os.O_RDONLY)
    received: list[bytes] = []
    source = StandardInput(descriptor, received.append)
    source.start()

    await asyncio.wait_for(source.ended.wait(), 10)

    assert received == [BODY]
    os.close(descriptor)
