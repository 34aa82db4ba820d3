"""The server on a port, and its clients."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

PATIENCE = 20.0
"""The timeout in seconds for one message."""
_ANNOUNCED = re.compile(
    r"promptls listens on (?:ws|tcp)://\S+?:(?P<port>\d+)"
    r"(?:/(?P<ws>[^;]+)| \(initializationOptions\.token: (?P<tcp>[^)]+)\)); Ctrl\+C ends it\.\n$"
)


@dataclass(frozen=True)
class Listening:
    """A listening server, and its output."""

    port: int
    token: str
    printed: str
    process: subprocess.Popen[str]


@contextmanager
def listening(*options: str, token: str | None = None, **environment: str) -> Iterator[Listening]:
    """Start a listening server; `token` is set by the options or the environment."""
    command = [sys.executable, "-m", "promptls", "server", *options]
    nothing = subprocess.DEVNULL
    with subprocess.Popen(
        command,
        stdin=nothing,
        stdout=nothing,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    ) as process:
        assert process.stderr is not None
        printed = ""
        try:
            while not (found := _ANNOUNCED.search(printed)):
                line = process.stderr.readline()
                assert line, printed
                printed += line
            yield Listening(int(found["port"]), token or found["ws"] or found["tcp"], printed, process)
        finally:
            process.kill()


async def refused(*options: str, **environment: str) -> tuple[int | None, str]:
    """Return the exit code of a server that does not listen, and its output."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "promptls", "server", *options),
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, **environment},
    )
    _, errors = await asyncio.wait_for(process.communicate(), PATIENCE)
    return process.returncode, errors.decode()


class TcpEnd:
    """The client's end of a TCP connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def open(cls, server: Listening) -> TcpEnd:
        return cls(*await asyncio.open_connection("127.0.0.1", server.port))

    async def send(self, body: bytes) -> None:
        self.writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    async def receive(self) -> Any:
        header = await self.reader.readuntil(b"\r\n\r\n")
        found = re.search(rb"Content-Length: (\d+)", header)
        assert found
        return json.loads(await self.reader.readexactly(int(found[1])))

    async def is_over(self) -> bool:
        return await self.reader.read() == b""


class WebSocketEnd:
    """The client's end of a WebSocket connection."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    @classmethod
    async def open(cls, server: Listening) -> WebSocketEnd:
        return cls(await connect(f"ws://127.0.0.1:{server.port}/{server.token}"))

    async def send(self, body: bytes) -> None:
        await self.connection.send(body.decode())

    async def receive(self) -> Any:
        return json.loads(await self.connection.recv())

    async def is_over(self) -> bool:
        with pytest.raises(ConnectionClosed):
            await self.connection.recv()
        return True


class Client:
    """A minimal editor for one session."""

    def __init__(self, end: Any, root: Path, token: str) -> None:
        self.end, self.root, self.token = end, root, token

    async def send(self, **message: Any) -> None:
        await self.end.send(json.dumps({"jsonrpc": "2.0", **message}).encode())

    async def until(self, matches: Callable[[Any], bool]) -> Any:
        async def look() -> Any:
            while not matches(message := await self.end.receive()):
                pass
            return message

        return await asyncio.wait_for(look(), PATIENCE)

    async def begin(self) -> Any:
        params = {
            "processId": None,
            "rootUri": self.root.as_uri(),
            "capabilities": {},
            "initializationOptions": {"token": self.token},
        }
        await self.send(id=1, method="initialize", params=params)
        answer = await self.until(lambda message: message.get("id") == 1)
        await self.send(method="initialized", params={})
        return answer["result"]

    async def open(self, text: str) -> list[str]:
        """Open the text; return the rules with findings in it."""
        uri = (self.root / "a.yml.j2").as_uri()
        document = {"uri": uri, "languageId": "promptls", "version": 1, "text": text}
        await self.send(method="textDocument/didOpen", params={"textDocument": document})
        published = await self.until(
            lambda message: message.get("method") == "textDocument/publishDiagnostics"
        )
        return [found["code"] for found in published["params"]["diagnostics"]]

    async def leave(self) -> bool:
        """Return whether the server closes the connection after the client has ended the session."""
        await self.send(id=99, method="shutdown")
        assert (await self.until(lambda message: message.get("id") == 99))["result"] is None
        await self.send(method="exit")
        return await asyncio.wait_for(self.end.is_over(), PATIENCE)
