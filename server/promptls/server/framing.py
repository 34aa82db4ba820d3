"""The framing of messages in a stream: a header with the length of the body, an empty line, the body.

Nothing marks where a message begins, so a stream with one wrong header cannot be read further.
`Framing` stops at the first byte that proves this, instead of waiting for data that may never come.
It takes only the two headers that the Language Server Protocol has: the request of another protocol,
such as one that a web page sends over HTTP, ends in its first line.
"""

from __future__ import annotations

import re
from typing import Final

MAX_MESSAGE_BYTES: Final = 64 << 20
"""The longest message; editors refuse to synchronize files of this size."""
MAX_HEADER_BYTES: Final = 1 << 10
_NAMES: Final = (b"content-length", b"content-type")
_USUAL_HEADER: Final = re.compile(rb"Content-Length: (\d{1,18})\r\n\r\n")
"""All that most clients write before a message."""
_LINE: Final = re.compile(
    rb"content-length:[ \t]*(?P<length>\d{0,18})[ \t]*\r?|content-type:[\t -~]*\r?", re.IGNORECASE
)
"""A header line without its line feed, also one that is not complete yet."""
_HEADER_IN_BODY: Final = re.compile(rb"Content-Length:[ \t]{0,8}\d{1,18}\r\n")
"""JSON has no line break inside a string, and no such text outside of one."""


class Framing:
    """Cuts a stream of bytes into the bodies of its messages.

    `error` says why the stream cannot be read further; it is None as long as it can.
    """

    def __init__(self, max_bytes: int = MAX_MESSAGE_BYTES) -> None:
        self.max_bytes = max_bytes
        self.error: str | None = None
        self._waiting: Final = bytearray()
        self._body_length: int | None = None
        self._searched = 0

    def bodies(self, data: bytes) -> list[bytes]:
        """Return the bodies that `data` completes, in order, up to the first error of the stream."""
        found: list[bytes] = []
        if self.error is None:
            self._waiting.extend(data)
            try:
                self._cut(found)
            except _BrokenStreamError as broken:
                self.error = str(broken)
                self._waiting.clear()
        return found

    def _cut(self, found: list[bytes]) -> None:
        """Move complete bodies from the waiting bytes to `found`."""
        if self._body_length is not None and len(self._waiting) < self._body_length:
            self._check_incomplete_body()
            return
        stream = bytes(self._waiting)
        done = 0
        while True:
            if self._body_length is None:
                header = _read_header(stream, done)
                if header is None:
                    break
                length, done = header
                if length > self.max_bytes:
                    raise _BrokenStreamError(
                        f"a message is announced with {length:,} bytes, and the limit is {self.max_bytes:,}"
                    )
                self._body_length = length
            end = done + self._body_length
            if len(stream) < end:
                break
            _check_body(stream, done, end)
            found.append(stream[done:end])
            done = end
            self._body_length = None
        del self._waiting[:done]
        if self._body_length is not None:
            self._searched = 0
            self._check_incomplete_body()

    def _check_incomplete_body(self) -> None:
        """Check what has arrived of a body, each byte about once."""
        _check_body(self._waiting, max(0, self._searched - MAX_HEADER_BYTES), len(self._waiting))
        self._searched = len(self._waiting)


class _BrokenStreamError(Exception):
    """The reason why a stream cannot be read further."""


def _read_header(stream: bytes, start: int) -> tuple[int, int] | None:
    """Return the length of a body and where it begins; None if the header is not complete.

    Raises _BrokenStreamError at the first byte that cannot belong to a header.
    """
    usual = _USUAL_HEADER.match(stream, start)
    if usual is not None:
        return int(usual[1]), usual.end()
    *lines, rest = stream[start : start + MAX_HEADER_BYTES].split(b"\n")
    length: int | None = None
    at = start
    for line in lines:
        at += len(line) + 1
        if line == b"\r":
            if length is None:
                raise _BrokenStreamError("a header has no `Content-Length`")
            return length, at
        found = _checked_line(line)
        if found is None or not line.endswith(b"\r"):
            raise _BrokenStreamError("a header line does not end in CR LF")
        digits = found["length"]
        if digits == b"":
            raise _BrokenStreamError("a `Content-Length` is empty")
        if digits is not None:
            if length is not None:
                raise _BrokenStreamError("a header has two lines with `Content-Length`")
            length = int(digits)
    if rest != b"\r":
        _checked_line(rest)
    if len(stream) - start >= MAX_HEADER_BYTES:
        raise _BrokenStreamError(f"a header is longer than {MAX_HEADER_BYTES:,} bytes")
    return None


def _checked_line(line: bytes) -> re.Match[bytes] | None:
    """Return the header that a line holds; None if it holds the beginning of a header's name.

    The error says nothing of what the line holds: it may be a piece of a message.
    """
    found = _LINE.fullmatch(line)
    lowered = line.lower()
    if found is None and not any(name.startswith(lowered) for name in _NAMES):
        if lowered.startswith(b"content-length:"):
            raise _BrokenStreamError("a `Content-Length` is not a number of bytes")
        raise _BrokenStreamError("a header line is neither `Content-Length` nor `Content-Type`")
    return found


def _check_body(buffer: bytes | bytearray, start: int, end: int) -> None:
    """Raise _BrokenStreamError where the header of another message is inside a body."""
    at = buffer.find(b"Content-Length:", start, end)
    if at >= 0 and _HEADER_IN_BODY.search(buffer, at, end):
        raise _BrokenStreamError("a header begins inside a message, so that its `Content-Length` is wrong")
