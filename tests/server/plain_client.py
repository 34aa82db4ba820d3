"""A client that sends plain JSON, including messages that no library would send."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from promptls.server.server import ExpectedAnswers, create_server
from promptls.server.stdio import Framing, frame_message

PATIENCE = 20.0

# As where the server runs by itself.
logging.getLogger("pygls.protocol.json_rpc").addFilter(ExpectedAnswers())


class Wire:
    """A server at the other end of two streams that exchange plain JSON."""

    def __init__(self, write: Callable[[bytes], object], output: asyncio.StreamReader) -> None:
        self.write = write
        self.output = output

    def send(self, **message: Any) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.write(frame_message(body))

    async def receive(self) -> Any:
        header = await asyncio.wait_for(self.output.readuntil(b"\r\n\r\n"), PATIENCE)
        length = int(header.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        return json.loads(await self.output.readexactly(length))

    async def answer(self, number: int) -> Any:
        while (message := await self.receive()).get("id") != number or "method" in message:
            pass
        return message

    async def begin(self, root: Path, **params: Any) -> Any:
        self.send(
            id=1,
            method="initialize",
            params={"processId": None, "rootUri": root.as_uri(), "capabilities": {}, **params},
        )
        answer = await self.answer(1)
        self.send(method="initialized", params={})
        return answer

    def open(self, root: Path, text: str) -> str:
        """Open a document with the text; return its URI."""
        params = opened(root, text)
        self.send(method="textDocument/didOpen", params=params)
        return str(params["textDocument"]["uri"])


class WireToProcess(Wire):
    """A server in a child process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        super().__init__(process.stdin.write, process.stdout)
        self.process = process

    async def end(self) -> int:
        return await asyncio.wait_for(self.process.wait(), PATIENCE)


class ServerWithin:
    """A server in the test process; to a client, the stream that it writes to."""

    def __init__(self) -> None:
        self.output = asyncio.StreamReader(1 << 26)
        self.server = create_server()
        self.server.protocol.leave = lambda _code: None
        self.server.protocol.set_writer(_Output(self.output), include_headers=False)
        self._framing = Framing()
        self._loop = asyncio.get_running_loop()

    def write(self, data: bytes) -> None:
        self._loop.call_soon(self._take, data)

    def close(self) -> None:
        """Do nothing; writers need this method."""

    def _take(self, data: bytes) -> None:
        for body in self._framing.bodies(data):
            self.server.protocol.receive(body)


class _Output:
    """The stream that the server writes its messages to."""

    def __init__(self, stream: asyncio.StreamReader) -> None:
        self._stream = stream

    def write(self, body: bytes) -> None:
        self._stream.feed_data(frame_message(body))

    def close(self) -> None:
        """Do nothing; writers need this method."""


def opened(root: Path, text: str) -> dict[str, Any]:
    uri = (root / "a.yml.j2").as_uri()
    return {"textDocument": {"uri": uri, "languageId": "promptls", "version": 1, "text": text}}
