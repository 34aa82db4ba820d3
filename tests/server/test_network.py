"""The server on a port, used by an editor at the other end."""

from __future__ import annotations

import asyncio
import signal
import socket
from pathlib import Path
from typing import Any

import pytest

from support.port_client import PATIENCE, Client, TcpEnd, WebSocketEnd, listening, refused

WRONG_ROLE = "- name: a\n  role: sytem\n  content: x\n"
ENDS = pytest.mark.parametrize(("option", "end"), [("--tcp", TcpEnd), ("--ws", WebSocketEnd)])


@ENDS
async def test_clients_one_after_the_other_have_sessions_of_their_own(
    option: str, end: Any, tmp_path: Path
) -> None:
    with listening(option, "0") as server:
        for _ in range(2):
            client = Client(await end.open(server), tmp_path, server.token)
            assert (await client.begin())["serverInfo"]["name"] == "promptls"
            assert await client.open(WRONG_ROLE) == ["unknown-role"]
            assert await client.leave()
        assert server.process.poll() is None


@ENDS
async def test_clients_at_the_same_time_see_nothing_of_each_other(
    option: str, end: Any, tmp_path: Path
) -> None:
    with listening(option, "0") as server:
        first, second = [Client(await end.open(server), tmp_path, server.token) for _ in range(2)]
        await first.begin()
        await second.begin()
        await second.send(method="textDocument/didOpen", params={"textDocument": 1})

        assert await first.open(WRONG_ROLE) == ["unknown-role"]
        await second.send(method="exit")
        assert await second.end.is_over()
        assert await first.leave()


@ENDS
async def test_a_port_in_use_is_reported(option: str, end: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, errors = await refused(option, str(port))

    assert code == 1
    assert f"127.0.0.1:{port} is taken" in errors
    assert "Traceback" not in errors


@ENDS
async def test_only_this_machine_is_listened_to(option: str, end: Any) -> None:
    with listening(option, "0") as server, socket.socket() as other:
        other.settimeout(PATIENCE)
        # A loopback address that the server was not told of: one bound to every address would answer.
        assert other.connect_ex(("127.0.0.2", server.port)) != 0


@ENDS
async def test_ctrl_c_ends_the_server(option: str, end: Any, tmp_path: Path) -> None:
    with listening(option, "127.0.0.1:0") as server:
        client = Client(await end.open(server), tmp_path, server.token)
        await client.begin()
        server.process.send_signal(signal.SIGINT)

        assert await asyncio.to_thread(server.process.wait, PATIENCE) == 130


async def test_a_client_that_vanishes_leaves_the_server_to_others(tmp_path: Path) -> None:
    with listening("--tcp", "0") as server:
        gone = Client(await TcpEnd.open(server), tmp_path, server.token)
        await gone.begin()
        gone.end.writer.transport.abort()

        client = Client(await TcpEnd.open(server), tmp_path, server.token)
        await client.begin()
        assert await client.open(WRONG_ROLE) == ["unknown-role"]


@pytest.mark.parametrize("word", ["http", "99999", "-1", "localhost:", ""])
async def test_what_names_no_port_is_refused(word: str) -> None:
    code, errors = await refused(f"--tcp={word}")

    assert code == 2
    assert "is not a port" in errors
