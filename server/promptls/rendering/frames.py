"""Messages between server and worker: a four-byte length, then JSON in ASCII."""

from __future__ import annotations

import json
import struct
from typing import Any, BinaryIO

_LENGTH = struct.Struct(">I")
HEADER_BYTES = _LENGTH.size


def encode(message: Any) -> bytes:
    """Return `message` as one frame. Lone surrogates are supported, since JSON escapes them."""
    body = json.dumps(message).encode("ascii")
    return _LENGTH.pack(len(body)) + body


def body_length(header: bytes) -> int:
    """Return the number of bytes that follow the `header`."""
    length: int = _LENGTH.unpack(header)[0]
    return length


def decode(body: bytes) -> Any:
    """Return the message in the `body` of a frame."""
    return json.loads(body)


def read(stream: BinaryIO) -> Any:
    """Return the next message of `stream`; raises EOFError if the other side has closed it."""
    return decode(_read_exactly(stream, body_length(_read_exactly(stream, HEADER_BYTES))))


def _read_exactly(stream: BinaryIO, length: int) -> bytes:
    """Return `length` bytes; raises EOFError if the stream ends before."""
    data = stream.read(length)
    if len(data) < length:
        raise EOFError
    return data
