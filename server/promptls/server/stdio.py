"""The transport over standard input and output: framing of messages, a reader, a writer."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import sys
import threading
from collections.abc import Callable
from typing import BinaryIO, Final

MAX_MESSAGE_BYTES: Final = 64 << 20
"""The longest message; editors refuse to synchronize files of this size."""
MAX_HEADER_BYTES: Final = 1 << 10
_NAMES: Final = (b"content-length", b"content-type")
_USUAL_HEADER: Final = re.compile(rb"Content-Length: (\d{1,18})\r\n\r\n")
"""The header that most clients write before a message."""
_LINE: Final = re.compile(
    rb"content-length:[ \t]*(?P<length>\d{0,18})[ \t]*\r?|content-type:[\t -~]*\r?", re.IGNORECASE
)
"""A header line without its line feed, also one that is not complete yet."""
_HEADER_IN_BODY: Final = re.compile(rb"[Cc]ontent-[Ll]ength:[ \t]{0,8}\d{1,18}\r\n")
"""A header inside a body. JSON has no line break inside a string, and no such text outside of one."""


class Framing:
    """Splits a stream of bytes into the bodies of its messages.

    `error` is the reason why the stream cannot be read further, or None.
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
        done = 0
        with memoryview(self._waiting) as stream:  # so that a large body is copied once
            while True:
                if self._body_length is None:
                    header = _read_header(stream, done)
                    if header is None:
                        break
                    length, done = header
                    if length > self.max_bytes:
                        announced = f"a message is announced with {length:,} bytes"
                        raise _BrokenStreamError(f"{announced}, and the limit is {self.max_bytes:,}")
                    self._body_length = length
                end = done + self._body_length
                if len(stream) < end:
                    break
                self._check_body(done, end)
                found.append(bytes(stream[done:end]))
                done = end
                self._body_length = None
                self._searched = 0
        del self._waiting[:done]
        if self._body_length is not None:
            self._check_incomplete_body()

    def _check_incomplete_body(self) -> None:
        """Check the received part of a body."""
        self._check_body(0, len(self._waiting))
        self._searched = len(self._waiting)

    def _check_body(self, start: int, end: int) -> None:
        """Raise _BrokenStreamError if a body contains the header of a different message.

        What was searched before is skipped, so that each byte is examined about once.
        """
        start = max(start, self._searched - MAX_HEADER_BYTES)
        at = self._waiting.find(b"ontent-", start, end)  # either case of the first letter
        if at >= 0 and _HEADER_IN_BODY.search(self._waiting, max(start, at - 1), end):
            raise _BrokenStreamError("a header begins inside a message: its `Content-Length` is wrong")


class _BrokenStreamError(Exception):
    """The reason why a stream cannot be read further."""


def _read_header(stream: memoryview, start: int) -> tuple[int, int] | None:
    """Return the length of a body and its start; None if the header is not complete.

    Raises _BrokenStreamError at the first byte that cannot belong to a header.
    """
    usual = _USUAL_HEADER.match(stream, start)
    if usual is not None:
        return int(usual[1]), usual.end()
    *lines, rest = bytes(stream[start : start + MAX_HEADER_BYTES]).split(b"\n")
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
    """Return the header in a line; None if the line contains only the start of a header's name.

    The error does not quote the line, which may be part of a message.
    """
    found = _LINE.fullmatch(line)
    lowered = line.lower()
    if found is None and not any(name.startswith(lowered) for name in _NAMES):
        if lowered.startswith(b"content-length:"):
            raise _BrokenStreamError("a `Content-Length` is not a number of bytes")
        raise _BrokenStreamError("a header line is neither `Content-Length` nor `Content-Type`")
    return found


_READ_BYTES: Final = 1 << 16


class StandardInput:
    """Reads message bodies on the event loop, to avoid the delay of a thread.

    A thread reads if the loop cannot watch the descriptor (Windows, a regular file).
    """

    def __init__(self, descriptor: int, receive: Callable[[bytes], object]) -> None:
        self._descriptor: Final = descriptor
        self._receive: Final = receive
        self._framing: Final = Framing()
        self._is_watched = False
        self.ended: Final = asyncio.Event()
        self.exit_code: int | None = None
        """The exit code that `leave` was called with."""

    @property
    def error(self) -> str | None:
        """The reason why the input cannot be read further; None if the client has closed it or left."""
        return self._framing.error

    def start(self) -> None:
        """Start reading; `ended` is set when the client closes its side or the input cannot be read."""
        loop = asyncio.get_running_loop()
        try:
            loop.add_reader(self._descriptor, self._readable)
            self._is_watched = True
        except (NotImplementedError, OSError):
            threading.Thread(target=self._read_in_thread, args=(loop,), daemon=True).start()

    def leave(self, code: int) -> None:
        """Stop reading, because the client has sent `exit`."""
        self.exit_code = code
        self._stop()

    def _stop(self) -> None:
        if self._is_watched:
            asyncio.get_running_loop().remove_reader(self._descriptor)
        self.ended.set()

    def _readable(self) -> None:
        with contextlib.suppress(BlockingIOError, InterruptedError):
            self._take(self._read())

    def _read(self) -> bytes:
        try:
            return os.read(self._descriptor, _READ_BYTES)
        except (BlockingIOError, InterruptedError):
            raise
        except OSError:
            return b""

    def _take(self, data: bytes) -> None:
        for body in self._framing.bodies(data):
            if not self.ended.is_set():
                self._receive(body)
        if not data or self.error is not None:
            self._stop()

    def _read_in_thread(self, loop: asyncio.AbstractEventLoop) -> None:
        while True:
            data = self._read()
            try:
                loop.call_soon_threadsafe(self._take, data)
            except RuntimeError:  # the loop has closed
                return
            if not data:
                return


class StandardOutput:
    """Writes each message with its header."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream: Final = stream

    def write(self, body: bytes) -> None:
        """Send a message now, or do nothing if the client has gone: the end of the input ends the server."""
        if self._stream.closed:
            return
        with contextlib.suppress(BrokenPipeError):
            self._stream.write(frame_message(body))
            self._stream.flush()

    def close(self) -> None:
        """Close the stream."""
        with contextlib.suppress(BrokenPipeError):
            self._stream.close()


def frame_message(body: bytes) -> bytes:
    """Return the body of a message with its header."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def claim_output() -> BinaryIO:
    """Reserve the standard output for messages, and return it; redirect everything printed to stderr.

    Otherwise, a single `print` in a library would break the stream of messages.
    """
    sys.stdout.flush()
    own = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    sys.stdout = sys.stderr
    return own
