"""A language client that does one thing at a time and waits for the answer."""

from __future__ import annotations

import json
import subprocess
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


class Client:
    """A language server in a process of its own, spoken to on its standard streams."""

    def __init__(self, command: list[str], folder: Path) -> None:
        self.process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self.folder = folder
        self.pulls = False
        self.takes_whole_texts = False
        self._reports: dict[str, dict[str, Any]] = {}
        self._next_id = 0

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
        """Do the handshake, as an editor that asks for diagnostics where the server lets it."""
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
        """The server's answer to a request."""
        return self.answer(self.send_request(method, params))

    def send_request(self, method: str, params: Any) -> int:
        """Ask for something; the number under which the answer comes."""
        self._next_id += 1
        self._send({"id": self._next_id, "method": method, "params": params})
        return self._next_id

    def answer(self, number: int) -> Any:
        """The answer to the request of this number."""
        while True:
            message = self._read()
            if message.get("id") == number and "method" not in message:
                return message.get("result")
            self._oblige(message)

    def notify(self, *messages: Any) -> None:
        """Send a notification: a method and its parameters; or several at once, in turn."""
        pairs = zip(messages[::2], messages[1::2], strict=True)
        self._send(*({"method": method, "params": params} for method, params in pairs))

    def wait_for_diagnostics(self, uri: str, version: int) -> list[Any]:
        """The diagnostics of this version of a document; of servers that name none, the next ones."""
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
        """Answer what the server asks."""
        if "method" in message and "id" in message:
            items = message.get("params") or {}
            count = len(items.get("items", ())) if message["method"] == "workspace/configuration" else 0
            self._send({"id": message["id"], "result": [None] * count or None})

    def _send(self, *messages: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        for message in messages:
            body = json.dumps({"jsonrpc": "2.0", **message}).encode()
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
