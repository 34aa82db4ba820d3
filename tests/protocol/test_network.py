"""The server on a port, spoken to as by an editor at the other end of it."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

PATIENCE = 20.0
WRONG_ROLE = "- name: a\n  role: sytem\n  content: x\n"


@asynccontextmanager
async def listening(*options: str) -> AsyncIterator[tuple[int, asyncio.subprocess.Process]]:
    """A server that listens, with its port."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "promptls", "server", *options, stdin=-3, stdout=-3, stderr=-1
    )
    try:
        assert process.stderr is not None
        line = (await asyncio.wait_for(process.stderr.readline(), PATIENCE)).decode()
        found = re.search(r":(\d+); Ctrl\+C", line)
        assert found, line
        yield int(found[1]), process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


class TcpEnd:
    """The client's end of a connection over TCP."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def open(cls, port: int) -> TcpEnd:
        return cls(*await asyncio.open_connection("127.0.0.1", port))

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
    """The client's end of a connection over WebSocket."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    @classmethod
    async def open(cls, port: int) -> WebSocketEnd:
        return cls(await connect(f"ws://127.0.0.1:{port}"))

    async def send(self, body: bytes) -> None:
        await self.connection.send(body.decode())

    async def receive(self) -> Any:
        return json.loads(await self.connection.recv())

    async def is_over(self) -> bool:
        with pytest.raises(ConnectionClosed):
            await self.connection.recv()
        return True


ENDS = pytest.mark.parametrize(("option", "end"), [("--tcp", TcpEnd), ("--ws", WebSocketEnd)])


class Client:
    """As much of an editor as a session needs."""

    def __init__(self, end: Any, root: Path) -> None:
        self.end, self.root = end, root

    async def send(self, **message: Any) -> None:
        await self.end.send(json.dumps({"jsonrpc": "2.0", **message}).encode())

    async def until(self, wanted: Callable[[Any], bool]) -> Any:
        async def look() -> Any:
            while not wanted(message := await self.end.receive()):
                pass
            return message

        return await asyncio.wait_for(look(), PATIENCE)

    async def begin(self) -> Any:
        params = {"processId": None, "rootUri": self.root.as_uri(), "capabilities": {}}
        await self.send(id=1, method="initialize", params=params)
        answer = await self.until(lambda message: message.get("id") == 1)
        await self.send(method="initialized", params={})
        return answer["result"]

    async def open(self, text: str) -> list[str]:
        """The rules of which the server finds something in the text."""
        uri = (self.root / "a.yml.j2").as_uri()
        document = {"uri": uri, "languageId": "promptls", "version": 1, "text": text}
        await self.send(method="textDocument/didOpen", params={"textDocument": document})
        published = await self.until(
            lambda message: message.get("method") == "textDocument/publishDiagnostics"
        )
        return [found["code"] for found in published["params"]["diagnostics"]]

    async def leave(self) -> bool:
        """Whether the server closes the connection when the client says that it leaves."""
        await self.send(id=99, method="shutdown")
        assert (await self.until(lambda message: message.get("id") == 99))["result"] is None
        await self.send(method="exit")
        return await asyncio.wait_for(self.end.is_over(), PATIENCE)


@ENDS
async def test_clients_one_after_the_other_have_sessions_of_their_own(
    option: str, end: Any, tmp_path: Path
) -> None:
    async with listening(option, "0") as (port, process):
        for _ in range(2):
            client = Client(await end.open(port), tmp_path)
            assert (await client.begin())["serverInfo"]["name"] == "promptls"
            assert await client.open(WRONG_ROLE) == ["unknown-role"]
            assert await client.leave()
        assert process.returncode is None


@ENDS
async def test_clients_at_the_same_time_see_nothing_of_each_other(
    option: str, end: Any, tmp_path: Path
) -> None:
    async with listening(option, "0") as (port, _):
        first, second = [Client(await end.open(port), tmp_path) for _ in range(2)]
        await first.begin()
        await second.begin()
        await second.send(method="textDocument/didOpen", params={"textDocument": 1})

        assert await first.open(WRONG_ROLE) == ["unknown-role"]
        await second.send(method="exit")
        assert await second.end.is_over()
        assert await first.leave()


@ENDS
async def test_a_port_that_is_taken_is_said_to_be(option: str, end: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "promptls", "server", option, str(port), stderr=-1
        )
        _, errors = await asyncio.wait_for(process.communicate(), PATIENCE)

    assert process.returncode == 1
    assert f"127.0.0.1:{port} is taken" in errors.decode()
    assert "Traceback" not in errors.decode()


@ENDS
async def test_only_this_machine_is_listened_to(option: str, end: Any) -> None:
    async with listening(option, "0") as (port, _):
        with socket.socket() as other:
            other.settimeout(PATIENCE)
            # A loopback address that the server was not told of: one bound to every address would answer.
            assert other.connect_ex(("127.0.0.2", port)) != 0


@ENDS
async def test_ctrl_c_ends_the_server(option: str, end: Any, tmp_path: Path) -> None:
    async with listening(option, "127.0.0.1:0") as (port, process):
        client = Client(await end.open(port), tmp_path)
        await client.begin()
        process.send_signal(signal.SIGINT)

        assert await asyncio.wait_for(process.wait(), PATIENCE) == 130


async def test_a_client_that_vanishes_leaves_the_server_to_others(tmp_path: Path) -> None:
    async with listening("--tcp", "0") as (port, _):
        gone = Client(await TcpEnd.open(port), tmp_path)
        await gone.begin()
        gone.end.writer.transport.abort()

        client = Client(await TcpEnd.open(port), tmp_path)
        await client.begin()
        assert await client.open(WRONG_ROLE) == ["unknown-role"]


async def test_a_message_in_a_web_pages_request_is_not_read() -> None:
    async with listening("--tcp", "0") as (port, _):
        end = await TcpEnd.open(port)
        end.writer.write(b"POST / HTTP/1.1\r\n")
        await end.send(b'{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}')

        with pytest.raises((asyncio.IncompleteReadError, ConnectionResetError)):
            await asyncio.wait_for(end.receive(), PATIENCE)


@pytest.mark.parametrize(
    ("origin", "is_let_in"),
    [
        ("https://example.com", False),
        ("http://localhost.example.com", False),
        ("null", False),
        ("http://localhost:3000", True),
        ("https://ide.example.com", True),
    ],
)
async def test_web_pages_connect_only_from_this_machine_or_where_they_are_named(
    origin: str, is_let_in: bool
) -> None:
    async with listening("--ws", "0", "--origin", "https://ide.example.com") as (port, _):
        try:
            async with connect(f"ws://127.0.0.1:{port}", origin=origin):
                connected = True
        except InvalidStatus:
            connected = False

    assert connected is is_let_in


@pytest.mark.parametrize("word", ["http", "99999", "-1", "localhost:", ""])
async def test_what_names_no_port_is_refused(word: str) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "promptls", "server", f"--tcp={word}", stderr=-1
    )
    _, errors = await asyncio.wait_for(process.communicate(), PATIENCE)

    assert process.returncode == 2
    assert "names no port" in errors.decode()
