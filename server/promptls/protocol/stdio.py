"""The language server's standard streams: whole messages in, bytes out.

Input is read on the event loop's own thread as soon as the system says that there is some:
a message costs no thread hop, and many that wait are seen as waiting. Where the loop cannot
watch the input (Windows, a file), one thread reads and hands each piece over.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import select
import sys
import threading
from collections.abc import Callable
from typing import Any, BinaryIO, Final, Protocol

from promptls.protocol.bursts import Pace

_USUAL_HEADER: Final = re.compile(rb"Content-Length: (\d{1,18})\r\n\r\n")
"""All that most clients write before a message."""
_LENGTH: Final = re.compile(rb"^content-length:[ \t]*(\d{1,18})[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)
_PIECE: Final = 1 << 16
_MOST_TURNS: Final = 4
"""How many batches are handled before everything else has its turn."""
_MOST_PIECES: Final = 200
"""How many pieces of a burst make one batch."""
_BURST_SECONDS: Final = 0.0001
"""How long the next letter of a burst is waited for; a client writes one in some 40 millionths of one."""


class Framing:
    """Cuts a stream of bytes into the bodies of its messages."""

    def __init__(self) -> None:
        self._waiting = bytearray()
        self._body_length: int | None = None

    def bodies(self, data: bytes) -> list[bytes]:
        """The bodies that `data` completes, in order; a header without a length is skipped."""
        self._waiting += data
        if self._body_length is not None and len(self._waiting) < self._body_length:
            return []
        stream = bytes(self._waiting)
        found: list[bytes] = []
        done = 0
        while True:
            if self._body_length is None:
                usual = _USUAL_HEADER.match(stream, done)
                if usual is not None:
                    self._body_length, done = int(usual[1]), usual.end()
                else:
                    end = stream.find(b"\r\n\r\n", done)
                    if end < 0:
                        break
                    length = _LENGTH.search(stream[done : end + 2])
                    done = end + 4
                    if length is None:
                        continue
                    self._body_length = int(length[1])
            if len(stream) - done < self._body_length:
                break
            found.append(stream[done : done + self._body_length])
            done += self._body_length
            self._body_length = None
        del self._waiting[:done]
        return found


Arrived = Callable[[], list[dict[str, Any]]]
"""The messages that have arrived meanwhile."""


class Receiver(Protocol):
    """Who the messages are for."""

    def messages(self, bodies: list[bytes]) -> list[dict[str, Any]]:
        """The messages of these bodies."""

    def handle_together(self, messages: list[dict[str, Any]], arrived: Arrived, /) -> None:
        """Handle messages that have arrived together; `arrived` tells of more, once or not at all."""


class StandardInput:
    """The client's messages, handed over in batches of what has arrived together."""

    def __init__(self, descriptor: int, receiver: Receiver) -> None:
        self._descriptor: Final = descriptor
        self._receiver: Final = receiver
        self._framing: Final = Framing()
        self._is_watched = False
        self.ended: Final = asyncio.Event()

    def start(self) -> None:
        """Begin to read; `ended` is set when the client has closed its side."""
        loop = asyncio.get_running_loop()
        try:
            loop.add_reader(self._descriptor, self._readable)
            self._is_watched = True
        except (NotImplementedError, OSError):
            threading.Thread(target=self._read_in_thread, args=(loop,), daemon=True).start()

    def has_more(self) -> bool:
        """Whether further messages wait to be read; False where that cannot be known."""
        return self._is_watched and self._waits(0)

    def _waits(self, seconds: float) -> bool:
        """Whether there is something to read, now or within so many seconds."""
        return bool(select.select([self._descriptor], [], [], seconds)[0])

    def _readable(self) -> None:
        """Take what has arrived, and what arrives meanwhile: most often the question behind an edit."""
        for _ in range(_MOST_TURNS):
            self._take_arrived()
            if self.ended.is_set() or not self.has_more():
                return

    def _take_arrived(self) -> None:
        """Hand over what has arrived; in the middle of a burst, as one batch with what follows at once."""
        pace = Pace()
        if arrived := self._arrived(pace):
            self._receiver.handle_together(arrived, lambda: self._arrived(pace) if self._waits(0) else [])

    def _arrived(self, pace: Pace) -> list[dict[str, Any]]:
        """The messages of what is there to be read.

        Behind a change, whatever has arrived while it was read belongs to them. Each piece is read while the
        next one is on its way.
        """
        arrived: list[dict[str, Any]] = []
        for _ in range(_MOST_PIECES):
            try:
                data = os.read(self._descriptor, _PIECE)
            except (BlockingIOError, InterruptedError):
                break
            except OSError:
                data = b""
            if not data:
                asyncio.get_running_loop().remove_reader(self._descriptor)
                self.ended.set()
                break
            messages = self._receiver.messages(self._framing.bodies(data))
            arrived += messages
            seconds = _BURST_SECONDS if pace.goes_on(messages) else 0
            if not (pace.changes and self._waits(seconds)):
                break
        return arrived

    def _take(self, data: bytes) -> None:
        if not data:
            self.ended.set()
        elif messages := self._receiver.messages(self._framing.bodies(data)):
            self._receiver.handle_together(messages, list)

    def _read_in_thread(self, loop: asyncio.AbstractEventLoop) -> None:
        while True:
            try:
                data = os.read(self._descriptor, _PIECE)
            except OSError:
                data = b""
            try:
                loop.call_soon_threadsafe(self._take, data)
            except RuntimeError:  # the loop has closed
                return
            if not data:
                return


class StandardOutput:
    """Writes messages whole, and closes."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream: Final = stream

    def write(self, data: bytes) -> None:
        """Send `data` now. Where the client is gone nothing happens: the end of its input says so."""
        with contextlib.suppress(BrokenPipeError):
            self._stream.write(data)
            self._stream.flush()

    def close(self) -> None:
        """Close the stream."""
        with contextlib.suppress(BrokenPipeError):
            self._stream.close()


def claim_output() -> BinaryIO:
    """The standard output, for messages alone: whatever prints to it from now on prints to the errors.

    One `print` in a library would otherwise break the stream of messages.
    """
    sys.stdout.flush()
    own = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    sys.stdout = sys.stderr
    return own
