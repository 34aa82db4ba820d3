"""A language client that sends one request at a time and waits for the answer."""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self

CAPABILITIES = {
    "textDocument": {
        "publishDiagnostics": {"versionSupport": True},
        "diagnostic": {},
        "completion": {"completionItem": {"snippetSupport": True}},
        "hover": {"contentFormat": ["markdown"]},
    },
    "general": {"positionEncodings": ["utf-16"]},
    "experimental": {"promptls": {"panels": True}},
}


class NoAnswerError(Exception):
    """A server did not answer in time."""


class Client:
    """A language server in a child process, connected through its standard streams.

    Methods that wait for the server raise NoAnswerError after `seconds`, if set. Servers run from compiled
    files, like installed ones.
    """

    def __init__(self, command: list[str], folder: Path) -> None:
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
            bufsize=0,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._to_server = self.process.stdin.fileno()
        self._from_server = self.process.stdout.fileno()
        os.set_blocking(self._to_server, False)
        self._arrived = bytearray()
        self.seconds: float | None = None
        self.folder = folder
        self.pulls = False
        self.takes_whole_texts = False
        self._reports: dict[str, dict[str, Any]] = {}
        self._next_id = 0
        self.sent_at = 0.0
        """When the first byte of the last messages was written, in seconds. Measurements start there, so that
        the time to create messages is not counted.
        """

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Kill the server."""
        self.process.kill()
        self.process.wait()

    def initialize(self) -> None:
        """Do the handshake like an editor that pulls diagnostics if the server supports it."""
        answer = self.request(
            "initialize",
            {"processId": None, "rootUri": self.folder.as_uri(), "capabilities": CAPABILITIES},
        )
        capabilities = answer["capabilities"]
        self.pulls = bool(capabilities.get("diagnosticProvider"))
        sync = capabilities.get("textDocumentSync")
        self.takes_whole_texts = 1 in (sync, isinstance(sync, dict) and sync.get("change"))
        self.notify("initialized", {})

    def request(self, method: str, params: Any) -> Any:
        """Return the server's answer to a request."""
        return self.answer(self.send_request(method, params))

    def send_request(self, method: str, params: Any) -> int:
        """Send a request, and return its id."""
        self._next_id += 1
        self._send({"id": self._next_id, "method": method, "params": params})
        return self._next_id

    def answer(self, number: int) -> Any:
        """Return the answer to the request with this id."""
        while True:
            message = self._read()
            if message.get("id") == number and "method" not in message:
                return message.get("result")
            self._oblige(message)

    def notify(self, *messages: Any) -> None:
        """Send a notification (a method and its parameters), or several at once, in order."""
        pairs = zip(messages[::2], messages[1::2], strict=True)
        self._send(*({"method": method, "params": params} for method, params in pairs))

    def wait_for_diagnostics(self, uri: str, version: int) -> list[Any]:
        """Return the diagnostics of this version of a document; for servers that send no version, the next
        ones.
        """
        if self.pulls:
            params: dict[str, Any] = {"textDocument": {"uri": uri}}
            if uri in self._reports:  # as editors do, which are told then where nothing has changed
                params["previousResultId"] = self._reports[uri].get("resultId")
            report = self.request("textDocument/diagnostic", params)
            if report["kind"] == "full":
                self._reports[uri] = report
            return list(self._reports[uri]["items"])
        while True:
            message = self._read()
            if message.get("method") == "textDocument/publishDiagnostics":
                params = message["params"]
                if params["uri"] == uri and params.get("version") in {version, None}:
                    return list(params["diagnostics"])
            self._oblige(message)

    def _oblige(self, message: dict[str, Any]) -> None:
        """Answer a request of the server."""
        if "method" in message and "id" in message:
            items = message.get("params") or {}
            count = len(items.get("items", ())) if message["method"] == "workspace/configuration" else 0
            self._send({"id": message["id"], "result": [None] * count or None})

    def _send(self, *messages: dict[str, Any]) -> None:
        bodies = [json.dumps({"jsonrpc": "2.0", **message}).encode() for message in messages]
        waiting = memoryview(
            b"".join([b"Content-Length: %d\r\n\r\n%s" % (len(body), body) for body in bodies])
        )
        self.sent_at = time.perf_counter()
        started = time.monotonic()
        while waiting:
            waiting = waiting[self._write(waiting) :]
            if waiting:
                self._wait([], [self._to_server], started)

    def _write(self, data: memoryview) -> int:
        try:
            return os.write(self._to_server, data)
        except BlockingIOError:
            return 0

    def _read(self) -> dict[str, Any]:
        started = time.monotonic()
        while (end := self._arrived.find(b"\r\n\r\n")) < 0:
            self._receive(started)
        headers = (line.partition(b":") for line in bytes(self._arrived[:end]).split(b"\r\n"))
        length = next(int(value) for name, _, value in headers if name.lower() == b"content-length")
        del self._arrived[: end + 4]
        while len(self._arrived) < length:
            self._receive(started)
        message: dict[str, Any] = json.loads(self._arrived[:length])
        del self._arrived[:length]
        return message

    def _receive(self, started: float) -> None:
        if self.seconds is not None:
            self._wait([self._from_server], [], started)
        data = os.read(self._from_server, 1 << 20)
        if not data:
            raise EOFError("the server ended")
        self._arrived += data

    def _wait(self, reading: list[int], writing: list[int], started: float) -> None:
        rest = None if self.seconds is None else max(started + self.seconds - time.monotonic(), 0)
        if not any(select.select(reading, writing, [], rest)):
            raise NoAnswerError
