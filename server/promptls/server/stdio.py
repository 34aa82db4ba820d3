"""The standard streams of the language server: message bodies in, framed messages out."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from typing import TYPE_CHECKING, BinaryIO, Final

from promptls.server.framing import Framing

if TYPE_CHECKING:
    from collections.abc import Callable

_READ_BYTES: Final = 1 << 16


class StandardInput:
    """Reads message bodies on the event loop, so that no message waits for a thread.

    Where the loop cannot watch the descriptor (Windows, a regular file), a thread reads.
    """

    def __init__(self, descriptor: int, receive: Callable[[bytes], object]) -> None:
        self._descriptor: Final = descriptor
        self._receive: Final = receive
        self._framing: Final = Framing()
        self._is_watched = False
        self.ended: Final = asyncio.Event()

    @property
    def error(self) -> str | None:
        """Why the input cannot be read any further; None if the client has closed it."""
        return self._framing.error

    def start(self) -> None:
        """Begin to read; `ended` is set when the client closes its side or the input cannot be read."""
        loop = asyncio.get_running_loop()
        try:
            loop.add_reader(self._descriptor, self._readable)
            self._is_watched = True
        except (NotImplementedError, OSError):
            threading.Thread(target=self._read_in_thread, args=(loop,), daemon=True).start()

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
            self._receive(body)
        if not data or self.error is not None:
            if self._is_watched:
                asyncio.get_running_loop().remove_reader(self._descriptor)
            self.ended.set()

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
        """Send a message now. If the client is gone, do nothing: the end of the input ends the server."""
        with contextlib.suppress(BrokenPipeError):
            self._stream.write(framed(body))
            self._stream.flush()

    def close(self) -> None:
        """Close the stream."""
        with contextlib.suppress(BrokenPipeError):
            self._stream.close()


def framed(body: bytes) -> bytes:
    """Return the body of a message behind its header."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def claim_output() -> BinaryIO:
    """Return the standard output for messages alone: whatever is printed from now on goes to stderr.

    One `print` in a library would otherwise break the stream of messages.
    """
    sys.stdout.flush()
    own = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    sys.stdout = sys.stderr
    return own
