"""A language server in a child process, and its messages."""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

Json = dict[str, Any]
PATIENCE = 60.0
"""The maximum seconds for an answer."""


class Connection:
    """A server's standard streams, with its answers by id, and its notifications."""

    def __init__(self, settings: Json, environment: dict[str, str], folder: Path) -> None:
        self.settings = settings
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115  (closed with the process)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "promptls", "server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            env=environment,
            cwd=folder,
        )
        self.answers: dict[str | int, Json] = {}
        self.pending: dict[str | int, tuple[str, float]] = {}
        self.published: dict[str, list[Json]] = {}
        self.slowest: dict[str, float] = {}
        self._next_id = 0
        self._incoming: queue.Queue[Json | None] = queue.Queue()
        assert self.process.stdout is not None
        threading.Thread(target=_read, args=(self.process.stdout, self._incoming), daemon=True).start()

    # -- out ----------------------------------------------------------------------

    def send(self, **message: Any) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
            self.process.stdin.flush()
        except BrokenPipeError:
            raise AssertionError(f"the server has ended:\n{self.error_text()[-3000:]}") from None

    def notify(self, method: str, params: Any) -> None:
        self.send(method=method, params=params)
        self.take_incoming()

    def request(self, method: str, params: Any) -> int:
        """Send a request without waiting; return its id."""
        self._next_id += 1
        self.pending[self._next_id] = (method, time.monotonic())
        self.send(id=self._next_id, method=method, params=params)
        self.take_incoming()
        return self._next_id

    def ask(self, method: str, params: Any) -> Json:
        """Return the complete answer to a request: with `result`, or with `error`."""
        number = self.request(method, params)
        self.wait(lambda: number in self.answers)
        return self.answers.pop(number)

    # -- in -----------------------------------------------------------------------

    def wait(self, until: Callable[[], bool]) -> None:
        """Process messages of the server until a condition holds."""
        end = time.monotonic() + PATIENCE
        while not until():
            left = end - time.monotonic()
            assert left > 0, f"no answer to {list(self.pending.values())[:3]}"
            with contextlib.suppress(queue.Empty):
                self._take(self._incoming.get(timeout=left))

    def take_incoming(self) -> None:
        """Process the messages that have arrived."""
        while not self._incoming.empty():
            self._take(self._incoming.get())

    def _take(self, message: Json | None) -> None:
        if message is None:
            raise AssertionError(f"the server has ended:\n{self.error_text()[-3000:]}")
        method = message.get("method")
        if method is None:
            self._take_answer(message)
        elif method == "textDocument/publishDiagnostics":
            self.published[message["params"]["uri"]] = message["params"]["diagnostics"]
        elif "id" in message:
            result: Any = None
            if method == "workspace/configuration":
                result = [self.settings for _ in message["params"]["items"]]
            self.send(id=message["id"], result=result)

    def _take_answer(self, message: Json) -> None:
        number = message["id"]
        if number is None:  # to what was not a message
            return
        assert number in self.pending, f"an answer to nothing, or a second one: {message}"
        method, sent = self.pending.pop(number)
        self.slowest[method] = max(self.slowest.get(method, 0), time.monotonic() - sent)
        self.answers[number] = message

    # -- errors and the end ---------------------------------------------------------

    def error_text(self) -> str:
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")

    def close(self) -> None:
        """Shut down like an editor."""
        if self.process.poll() is None:
            self.ask("shutdown", None)
            self.send(method="exit")
        assert self.process.wait(PATIENCE) == 0

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


def _read(stream: IO[bytes], incoming: queue.Queue[Json | None]) -> None:
    while line := stream.readline():
        length = 0
        while line.strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
            line = stream.readline()
        incoming.put(json.loads(stream.read(length)))
    incoming.put(None)
