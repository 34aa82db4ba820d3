from __future__ import annotations

import asyncio
import os
from pathlib import Path

from promptls.protocol.stdio import Framing, StandardInput

BODY = b'{"text": "\xf0\x9f\x8e\x89"}'
FRAME = b"Content-Length: %d\r\n\r\n%b" % (len(BODY), BODY)


def test_messages_come_out_whole_however_the_stream_is_cut() -> None:
    stream = FRAME * 3

    for size in (1, 2, 7, len(FRAME), len(stream)):
        framing = Framing()
        pieces = [stream[start : start + size] for start in range(0, len(stream), size)]
        assert [body for piece in pieces for body in framing.bodies(piece)] == [BODY] * 3


def test_other_headers_and_other_spellings_are_read_over() -> None:
    frame = b"Content-Type: x; charset=utf-8\r\ncontent-length:%d\r\n\r\n%b" % (len(BODY), BODY)

    assert Framing().bodies(frame) == [BODY]


def test_a_header_without_a_length_costs_only_itself() -> None:
    assert Framing().bodies(b"nonsense\r\n\r\n" + FRAME) == [BODY]


async def test_messages_that_arrive_together_are_handed_over_together() -> None:
    reading, writing = os.pipe()
    received: list[list[bytes]] = []
    source = StandardInput(reading, received.append)
    os.write(writing, FRAME * 2)
    source.start()
    os.close(writing)

    await asyncio.wait_for(source.ended.wait(), 10)

    assert received == [[BODY, BODY]]
    os.close(reading)


async def test_a_file_is_read_in_a_thread(tmp_path: Path) -> None:
    file = tmp_path / "messages"
    file.write_bytes(FRAME)
    descriptor = os.open(file, os.O_RDONLY)
    received: list[list[bytes]] = []
    source = StandardInput(descriptor, received.append)
    source.start()

    await asyncio.wait_for(source.ended.wait(), 10)

    assert received == [[BODY]]
    assert not source.has_more()
    os.close(descriptor)
