"""Attacks on `promptls server --ws` and `--tcp`, from web pages and other users of the machine."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from promptls.server import network
from promptls.server.network import MAX_FIRST_BYTES, TcpClient
from promptls.server.port_access import Address
from promptls.server.stdio import MAX_MESSAGE_BYTES
from support.port_client import (
    PATIENCE,
    Client,
    Listening,
    TcpEnd,
    WebSocketEnd,
    listening,
    refused,
)

ENDS = pytest.mark.parametrize(("option", "end"), [("--tcp", TcpEnd), ("--ws", WebSocketEnd)])
INITIALIZE = (
    b'{"jsonrpc":"2.0","id":1,"method":"initialize",'
    b'"params":{"processId":null,"rootUri":null,"capabilities":{}%b}}'
)
CHOSEN = "a-token-of-the-user"


@pytest.fixture(scope="module")
def ws() -> Iterator[Listening]:
    """Start a server over WebSocket for all tests of this module."""
    with listening("--ws", "0") as server:
        yield server


@pytest.fixture(scope="module")
def open_ws() -> Iterator[Listening]:
    """Start a server over WebSocket that accepts web pages of one origin."""
    with listening("--ws", "0", "--allow-origin", "https://ide.example.com") as server:
        yield server


@pytest.fixture(scope="module")
def tcp() -> Iterator[Listening]:
    """Start a server over TCP for all tests of this module."""
    with listening("--tcp", "0") as server:
        yield server


def initialize(options: bytes | None) -> bytes:
    return INITIALIZE % (b"" if options is None else b',"initializationOptions":' + options)


def framed(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


async def heard(port: int, *segments: bytes) -> bytes:
    """Return all output of the server for segments that arrive one by one, until it closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        for segment in segments:
            writer.write(segment)
            await writer.drain()
            await asyncio.sleep(0.01)  # so that the segments do not travel together
        return await asyncio.wait_for(reader.read(), PATIENCE)
    except ConnectionError:
        return b""
    finally:
        writer.close()


async def send_until_reset(writer: asyncio.StreamWriter) -> None:
    """Send bytes until the server has closed the connection, which raises a ConnectionError."""
    for _ in range(round(PATIENCE / 0.05)):
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.05)


async def shake_hands(
    server: Listening, path: str, *headers: str
) -> tuple[int, asyncio.StreamReader, asyncio.StreamWriter]:
    """Send a WebSocket handshake with only these headers; return the status and the connection."""
    lines = [
        f"GET {path} HTTP/1.1",
        *headers,
        *("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"),
        *("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "", ""),
    ]
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write("\r\n".join(lines).encode("latin-1"))
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE)
    return int(head.split()[1]), reader, writer


async def handshake(server: Listening, path: str, *headers: str) -> int:
    """Return the status of a WebSocket handshake with only these headers."""
    status, _, writer = await shake_hands(server, path, *headers)
    writer.close()
    return status


# -- web socket -----------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "",
        "/{token}x",
        "/x{token}",
        "/{cut}",
        "/x/{token}",
        "/?{token}",
        "/{token}/x",
        "/{upper}",
        "/%00",
    ],
)
async def test_a_web_socket_without_the_token_is_refused(ws: Listening, path: str) -> None:
    names = {"token": ws.token, "cut": ws.token[:-1], "upper": ws.token.swapcase()}
    with pytest.raises(InvalidStatus) as failed:
        await connect(f"ws://127.0.0.1:{ws.port}{path.format(**names)}")

    assert failed.value.response.status_code == 404
    assert ws.token.encode() not in (failed.value.response.body or b"")


@pytest.mark.parametrize(
    "hosts",
    [
        (),
        ("evil.example:{port}",),
        ("127.0.0.1.evil.example:{port}",),
        ("127.0.0.1",),
        ("127.0.0.1:1",),
        ("0.0.0.0:{port}",),
        ("127.0.0.1:{port}", "evil.example"),
        ("127.0.0.1:{port}", "127.0.0.1:{port}"),
        ("127.0.0.1:{port}, evil.example",),
    ],
)
async def test_a_web_socket_under_another_host_is_refused(ws: Listening, hosts: tuple[str, ...]) -> None:
    headers = [f"Host: {host.format(port=ws.port)}" for host in hosts]

    assert await handshake(ws, f"/{ws.token}", *headers) == 421


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_native_client_with_the_token_is_let_in(ws: Listening, host: str) -> None:
    assert await handshake(ws, f"/{ws.token}", f"Host: {host}:{ws.port}") == 101


@pytest.mark.parametrize(
    "origin",
    [
        *("null", "https://evil.example", "http://localhost:3000", "https://127.0.0.1:8888"),
        *("vscode-webview://localhost", "http://127.0.0.1:{port}", "http://localhost:{port}", "file://", ""),
    ],
)
async def test_no_web_page_is_let_in_by_default(ws: Listening, origin: str) -> None:
    headers = [f"Host: 127.0.0.1:{ws.port}", f"Origin: {origin.format(port=ws.port)}"]

    assert await handshake(ws, f"/{ws.token}", *headers) == 403


@pytest.mark.parametrize(
    ("origins", "status"),
    [
        (["https://ide.example.com"], 101),
        (["https://ide.example.com."], 403),
        (["https://ide.example.com:444"], 403),
        (["http://ide.example.com"], 403),
        (["https://x.ide.example.com"], 403),
        (["https://ide.example.com", "https://evil.example"], 403),
        (["https://ide.example.com", "https://ide.example.com"], 403),
    ],
)
async def test_only_the_web_pages_that_the_user_names_are_let_in(
    open_ws: Listening, origins: list[str], status: int
) -> None:
    headers = [f"Host: 127.0.0.1:{open_ws.port}", *(f"Origin: {origin}" for origin in origins)]

    assert await handshake(open_ws, f"/{open_ws.token}", *headers) == status
    assert await handshake(open_ws, "/", *headers) == 404


async def test_a_message_above_the_limit_ends_a_web_socket_with_the_reason(ws: Listening) -> None:
    status, reader, writer = await shake_hands(ws, f"/{ws.token}", f"Host: 127.0.0.1:{ws.port}")
    assert status == 101
    writer.write(b"\x81\xff" + (MAX_MESSAGE_BYTES + 1).to_bytes(8, "big") + bytes(4))
    said = await asyncio.wait_for(reader.read(), PATIENCE)
    writer.close()

    code = (1009).to_bytes(2, "big")
    assert (
        code + b"frame with %d bytes exceeds limit of %d" % (MAX_MESSAGE_BYTES + 1, MAX_MESSAGE_BYTES) in said
    )


# -- TCP ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        initialize(None),
        initialize(b"{}"),
        initialize(b"null"),
        initialize(b"[]"),
        initialize(b'"TOKEN"'),
        initialize(b'{"token":null}'),
        initialize(b'{"token":true}'),
        initialize(b'{"token":["TOKEN"]}'),
        initialize(b'{"token":""}'),
        initialize(b'{"token":"TOKEN "}'),
        initialize(b'{"token":"TOKENx"}'),
        initialize(b'{"token":"\\ud800"}'),
        initialize(b'{"Token":"TOKEN"}'),
        initialize(b'{"trusted":true}'),
        initialize(b'{"token":"TOKEN"}').replace(b'"initialize"', b'"shutdown"'),
        initialize(b'{"token":"TOKEN"}').replace(b'"initialize"', b'"exit"'),
        b"[" + initialize(b'{"token":"TOKEN"}') + b"]",
        b'{"jsonrpc":"2.0","id":1,"method":"workspace/executeCommand","params":{"command":"promptls.preview"}}',
        b'{"jsonrpc":"2.0","method":"initialized"}',
        b"no JSON",
        b"",
    ],
)
async def test_a_client_over_tcp_without_the_token_gets_an_error_and_is_closed(
    tcp: Listening, body: bytes
) -> None:
    token = tcp.token.encode()
    said = await heard(tcp.port, framed(body.replace(b"TOKEN", token)))

    assert said.count(b"Content-Length") == 1
    assert b'"error":{"code":-32600' in said
    assert b"initializationOptions.token" in said
    assert token not in said


async def test_what_follows_a_refused_message_is_not_read(tcp: Listening) -> None:
    good = framed(initialize(b'{"token":"%b"}' % tcp.token.encode()))
    said = [
        await heard(tcp.port, framed(initialize(None)) + good),
        await heard(tcp.port, framed(initialize(None)), good),
    ]

    assert [each.count(b'"error"') for each in said] == [1, 1]
    assert not any(b"capabilities" in each for each in said)


@pytest.mark.parametrize(
    "segments",
    [
        (b"POST / HTTP/1.1\r\n", b"MESSAGE"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 400\r\n\r\nMESSAGE",),
        (b"PO", b"ST / HTTP/1.1\r\n\r\n", b"MESSAGE"),
        (b"P", b"OST / HTTP/1.1\r\n\r\n", b"MESSAGE"),
        (b"\r\nPOST / HTTP/1.1\r\n\r\nMESSAGE",),
        (b"FOO / HTTP/1.1\r\n\r\nMESSAGE",),
        (b"patch / HTTP/1.1\r\n\r\nMESSAGE",),
        (b"PROPFIND / HTTP/1.1\r\n\r\nMESSAGE",),
        (b"CONTENT-LENGTH / HTTP/1.1\r\n\r\nMESSAGE",),
        (b"\x00\x00garbage\r\n\r\nMESSAGE",),
        (b"{}\r\n\r\nMESSAGE",),
        (b"Content-Length: %d\r\n\r\n" % (MAX_FIRST_BYTES + 1), b"MESSAGE"),
    ],
)
async def test_another_protocol_over_tcp_is_closed_without_an_answer(
    tcp: Listening, segments: tuple[bytes, ...]
) -> None:
    # Even a page that knows the token does not reach the server through a request over HTTP.
    message = framed(initialize(b'{"token":"%b"}' % tcp.token.encode()))
    said = await heard(tcp.port, *(segment.replace(b"MESSAGE", message) for segment in segments))

    assert said == b""


async def test_a_broken_header_of_a_known_client_is_answered_before_the_connection_ends(
    tcp: Listening,
) -> None:
    message = framed(initialize(b'{"token":"%b"}' % tcp.token.encode()))
    said = await heard(tcp.port, message + b"Content-Length: -5\r\n\r\n" + message)

    assert said.count(b'"capabilities"') == 1
    assert said.endswith(
        b'{"jsonrpc":"2.0","id":null,"error":'
        b'{"code":-32700,"message":"a `Content-Length` is not a number of bytes"}}'
    )


async def test_a_known_client_may_send_more_than_an_unknown_one(tcp: Listening, tmp_path: Path) -> None:
    client = Client(await TcpEnd.open(tcp), tmp_path, tcp.token)
    await client.begin()

    assert await client.open("- name: a\n  role: sytem\n  content: x\n#" + "a" * MAX_FIRST_BYTES) == [
        "unknown-role"
    ]


async def test_a_client_over_tcp_that_says_nothing_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "TOKEN_SECONDS", 0.01)
    clients: set[TcpClient] = set()
    loop = asyncio.get_running_loop()
    async with await loop.create_server(lambda: TcpClient(clients, CHOSEN), "127.0.0.1", 0) as server:
        assert await heard(server.sockets[0].getsockname()[1], b"Content-Length: 10\r\n") == b""
    assert not clients


async def test_a_refused_client_that_does_not_close_its_connection_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(network, "TOKEN_SECONDS", 0.2)
    clients: set[TcpClient] = set()
    loop = asyncio.get_running_loop()
    async with await loop.create_server(lambda: TcpClient(clients, CHOSEN), "127.0.0.1", 0) as server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname()[:2])
        writer.write(framed(initialize(None)))
        assert b"initializationOptions.token" in await asyncio.wait_for(reader.read(), PATIENCE)
        with pytest.raises(ConnectionError):
            await send_until_reset(writer)
    assert not clients


# -- tokens and hosts -----------------------------------------------------------


@ENDS
async def test_every_server_has_another_token_of_enough_letters(option: str, end: Any) -> None:
    tokens = set()
    for _ in range(2):
        with listening(option, "0") as server:
            tokens.add(server.token)

    assert len(tokens) == 2
    assert all(len(token) >= 32 for token in tokens)


@ENDS
@pytest.mark.parametrize("is_file", [True, False])
async def test_a_chosen_token_lets_in_and_is_not_printed(
    option: str, end: Any, *, is_file: bool, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text(f"{CHOSEN}\n", "utf-8")
    options = ["--token-file", str(file)] if is_file else []
    variable = "x" * 16 if is_file else CHOSEN  # the file is the nearer choice
    with listening(option, "0", *options, token=CHOSEN, PROMPTLS_TOKEN=variable) as server:
        client = Client(await end.open(server), tmp_path, CHOSEN)
        answer = await client.begin()

    assert answer["serverInfo"]["name"] == "promptls"
    assert "the token that you chose" in server.printed
    assert CHOSEN not in server.printed


@pytest.mark.parametrize(
    "token", ["", "short", "x" * 15, "with spaces in between", "with/slashes/in/between", "ü" * 20]
)
async def test_a_token_that_is_easy_to_guess_or_fits_no_address_is_refused(
    token: str, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text(token, "utf-8")

    for chosen in ({"PROMPTLS_TOKEN": token}, {}):
        options = [] if chosen else ["--token-file", str(file)]
        code, errors = await refused("--ws", "0", *options, **chosen)

        assert code == 2
        assert "must have 16 to 512 characters" in errors
        assert ("PROMPTLS_TOKEN" if chosen else str(file)) in errors


async def test_a_missing_token_file_is_named(tmp_path: Path) -> None:
    code, errors = await refused("--ws", "0", "--token-file", str(tmp_path / "none"))

    assert code == 1
    assert "none" in errors


@ENDS
@pytest.mark.parametrize(
    "host", ["0.0.0.0", "[::]", "192.0.2.1", "example.invalid", "localhost.example.invalid"]
)
async def test_a_host_that_others_reach_needs_an_option(option: str, end: Any, host: str) -> None:
    code, errors = await refused(option, f"{host}:0")

    assert code == 2
    assert "--allow-remote" in errors


@ENDS
async def test_a_server_that_others_reach_warns_and_still_wants_the_token(
    option: str, end: Any, tmp_path: Path
) -> None:
    with listening(option, "0.0.0.0:0", "--allow-remote") as server:
        client = Client(await end.open(server), tmp_path, server.token)
        answer = await client.begin()
        if option == "--ws":
            is_refused = await handshake(server, "/", f"Host: 127.0.0.1:{server.port}") == 404
        else:
            is_refused = b"error" in await heard(server.port, framed(initialize(None)))

    assert answer["serverInfo"]["name"] == "promptls"
    assert is_refused
    warning = server.printed.splitlines()[0]
    assert "not encrypted" in warning
    assert "Python" in warning


@pytest.mark.parametrize(
    ("host", "is_loopback"),
    [
        *(("127.0.0.1", True), ("127.8.9.1", True), ("::1", True), ("localhost", True)),
        *(
            ("0.0.0.0", False),
            ("::", False),
            ("", False),
            ("0", False),
            ("127.1", False),
            ("10.0.0.1", False),
        ),
        *(("127.0.0.1.example.com", False), ("localhost.example.com", False)),
    ],
)
def test_local_hosts_are_distinguished_from_others(host: str, *, is_loopback: bool) -> None:
    assert Address(host, 0).is_loopback is is_loopback


@pytest.mark.parametrize(
    "options",
    [
        *(["--token-file", "a"], ["--allow-remote"], ["--stdio", "--allow-origin", "https://a.example"]),
        ["--tcp", "0", "--allow-origin", "https://a.example"],
        *(
            ["--ws", "0", "--allow-origin", origin]
            for origin in ("*", "null", "a.example", "https://*.a.example")
        ),
        *(
            ["--ws", "0", "--allow-origin", origin]
            for origin in ("https://a.example/", "https://me@a.example")
        ),
        *(["--ws", "0", "--no-token"], ["--tcp", "0", "--no-token"]),
    ],
)
async def test_options_that_would_do_nothing_or_open_too_much_are_refused(options: list[str]) -> None:
    code, errors = await refused(*options)

    assert code == 2
    assert "promptls: " in errors
