from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

from promptls.protocol.stdio import Arrived, Framing, StandardInput

BODY = b'{"text": "\xf0\x9f\x8e\x89"}'
FRAME = b"Content-Length: %d\r\n\r\n%b" % (len(BODY), BODY)


class Recorder:
    """Keeps the batches that it is handed."""

    def __init__(self) -> None:
        self.batches: list[list[dict[str, Any]]] = []

    def messages(self, bodies: list[bytes]) -> list[dict[str, Any]]:
        return [json.loads(body) for body in bodies]

    def handle_together(self, messages: list[dict[str, Any]], _arrived: Arrived, /) -> None:
        self.batches.append(messages)


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
    assert Framing().bodies(b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n" + FRAME) == [BODY]


def test_a_header_right_behind_a_body_is_read_in_any_spelling() -> None:
    other = b"content-length: %d\r\n\r\n%b" % (len(BODY), BODY)

    assert Framing().bodies(FRAME + other + FRAME) == [BODY] * 3


async def test_messages_that_arrive_together_are_handed_over_together() -> None:
    reading, writing = os.pipe()
    recorder = Recorder()
    source = StandardInput(reading, recorder)
    os.write(writing, FRAME * 2)
    source.start()
    os.close(writing)

    await asyncio.wait_for(source.ended.wait(), 10)

    assert recorder.batches == [[json.loads(BODY)] * 2]
    os.close(reading)


async def test_what_waits_behind_a_change_is_handed_over_with_it() -> None:
    """As when a letter is typed while the one before it is read: what was asked about that one is stale."""
    reading, writing = os.pipe()
    change = b'{"method":"textDocument/didChange"}'
    frame = b"Content-Length: %d\r\n\r\n%b" % (len(change), change)

    typed: list[int] = []

    class TypistAtWork(Recorder):
        def messages(self, bodies: list[bytes]) -> list[dict[str, Any]]:
            if not typed:
                typed.append(os.write(writing, FRAME))
                os.close(writing)
            return super().messages(bodies)

    recorder = TypistAtWork()
    source = StandardInput(reading, recorder)
    os.write(writing, frame)
    source.start()

    await asyncio.wait_for(source.ended.wait(), 10)

    assert recorder.batches == [[json.loads(change), json.loads(BODY)]]
    os.close(reading)


async def test_a_file_is_read_in_a_thread(tmp_path: Path) -> None:
    file = tmp_path / "messages"
    file.write_bytes(FRAME)
    descriptor = os.open(file, os.O_RDONLY)
    recorder = Recorder()
    source = StandardInput(descriptor, recorder)
    source.start()

    await asyncio.wait_for(source.ended.wait(), 10)

    assert recorder.batches == [[json.loads(BODY)]]
    assert not source.has_more()
    os.close(descriptor)
