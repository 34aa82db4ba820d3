"""A language client that does one thing at a time and waits for the answer."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self


class Client:
    """A language server in a process of its own, spoken to on its standard streams."""

    def __init__(self, command: list[str], folder: Path) -> None:
        self.process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self.folder = folder
        self._next_id = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()

    def initialize(self) -> None:
        """Do the handshake, as an editor that takes pushed diagnostics."""
        self.request(
            "initialize",
            {
                "processId": None,
                "rootUri": self.folder.as_uri(),
                "capabilities": {
                    "textDocument": {"publishDiagnostics": {"versionSupport": True}},
                    "general": {"positionEncodings": ["utf-16"]},
                },
            },
        )
        self.notify("initialized", {})

    def request(self, method: str, params: Any) -> Any:
        """The server's answer to a request."""
        self._next_id += 1
        number = self._next_id
        self._send({"id": number, "method": method, "params": params})
        while True:
            message = self._read()
            if message.get("id") == number and "method" not in message:
                return message.get("result")

    def notify(self, method: str, params: Any) -> None:
        self._send({"method": method, "params": params})

    def wait_for_diagnostics(self, uri: str, version: int) -> list[Any]:
        """The diagnostics of this version of a document."""
        while True:
            message = self._read()
            if message.get("method") == "textDocument/publishDiagnostics":
                params = message["params"]
                if params["uri"] == uri and params.get("version") == version:
                    return list(params["diagnostics"])
            elif "method" in message and "id" in message:
                self._send({"id": message["id"], "result": None})

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def _read(self) -> dict[str, Any]:
        stream = self.process.stdout
        assert stream is not None
        length = 0
        while line := stream.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        if not length:
            raise EOFError("the server ended")
        message: dict[str, Any] = json.loads(stream.read(length))
        return message
