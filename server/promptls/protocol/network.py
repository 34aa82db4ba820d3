"""The language server on a port: over TCP as on the standard streams, over WebSocket a message a frame.

Every client that connects has a server of its own, and what one leaves behind no other sees.
Whoever reaches the port can let the server run a prompt's functions and metrics: it listens on
this machine alone unless it is told otherwise, and web pages of other places are turned away.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import re
import select
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from promptls.protocol.server import create_server, set_up_logging
from promptls.protocol.stdio import Framing
from promptls.text.failure import Failure

if TYPE_CHECKING:
    from websockets.asyncio.server import ServerConnection

log = logging.getLogger(__name__)

LOOPBACK: Final = "127.0.0.1"
_HTTP: Final = re.compile(rb"(?:GET|HEAD|POST|PUT|DELETE|CONNECT|OPTIONS|TRACE|PATCH|PRI) ")
"""How a browser would begin: a page could otherwise put a message into the body of a request."""
_OWN_ORIGINS: Final = re.compile(r"(?:https?|vscode-webview)://(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?")


@dataclass(frozen=True, slots=True)
class Address:
    """A host and a port to listen on; port 0 stands for any free one."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def run_tcp(address: Address) -> None:
    """Serve clients over TCP until the process is interrupted; raises Failure where it cannot listen."""
    set_up_logging()
    asyncio.run(_serve_tcp(address))


def run_websocket(address: Address, origins: tuple[str, ...] = ()) -> None:
    """Serve clients over WebSocket until the process is interrupted; raises Failure where it cannot listen.

    `origins` are those of web pages that may connect, beside those of this machine.
    """
    set_up_logging()
    asyncio.run(_serve_websocket(address, origins))


async def _serve_tcp(address: Address) -> None:
    clients: set[TcpClient] = set()
    loop = asyncio.get_running_loop()
    listening = await _listening(address, loop.create_server(lambda: TcpClient(clients), *_pair(address)))
    _announce("tcp", listening)
    try:
        await listening.serve_forever()
    finally:
        for client in list(clients):
            await client.close()


async def _serve_websocket(address: Address, origins: tuple[str, ...]) -> None:
    from websockets.asyncio.server import serve

    allowed: list[Any] = [None, _OWN_ORIGINS, *origins]
    started = serve(_websocket_client, *_pair(address), origins=allowed, max_size=None, compression=None)
    listening = await _listening(address, started)
    _announce("ws", listening)
    await listening.serve_forever()


def _pair(address: Address) -> tuple[str, int]:
    return address.host, address.port


async def _listening(address: Address, started: Awaitable[Any]) -> Any:
    """What listens; raises Failure with the reason where nothing can."""
    try:
        return await started
    except (OSError, OverflowError) as error:
        number = getattr(error, "errno", None)
        if number == errno.EADDRINUSE:
            reason, remedy = "is taken by another program", "choose another port, or 0 for any free one"
        elif number == errno.EACCES:
            reason, remedy = "may not be used by this user", "choose a port above 1023"
        else:
            reason, remedy = f"cannot be listened on ({error})", "check the host and the port"
        raise Failure(f"the address {address} {reason}", remedy=remedy) from None


def _announce(scheme: str, listening: Any) -> None:
    """Say where clients reach the server, which is news where any port would do."""
    names = [each.getsockname() for each in listening.sockets]
    places = " and ".join(f"{scheme}://{Address(*name[:2])}" for name in names)
    sys.stderr.write(f"promptls listens on {places}; Ctrl+C ends it.\n")
    sys.stderr.flush()


class TcpClient(asyncio.Protocol):
    """One client over TCP; what it does not read in time keeps it from being read, too."""

    def __init__(self, clients: set[TcpClient]) -> None:
        self._clients: Final = clients
        self._framing: Final = Framing()
        self._server: Final = create_server()
        self._has_begun = False
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin a session."""
        self._transport = cast("asyncio.Transport", transport)
        self._clients.add(self)
        self._server.input = self
        self._server.leave = lambda _code: transport.close()
        self._server.protocol.set_writer(self._transport)

    def data_received(self, data: bytes) -> None:
        """Handle the messages that are whole."""
        assert self._transport is not None
        if not self._has_begun and _HTTP.match(data):
            log.warning("a connection that speaks HTTP is closed")
            self._transport.abort()
            return
        self._has_begun = True
        if bodies := self._framing.bodies(data):
            self._server.protocol.receive(bodies)

    def has_more(self) -> bool:
        """Whether further messages wait to be read."""
        assert self._transport is not None
        if self._transport.is_closing():
            return False
        descriptor = self._transport.get_extra_info("socket").fileno()
        return descriptor >= 0 and bool(select.select([descriptor], [], [], 0)[0])

    def pause_writing(self) -> None:
        """Read nothing while the client reads nothing."""
        if self._transport is not None:
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        """Read on."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def connection_lost(self, _error: Exception | None) -> None:
        """End the session."""
        self._clients.discard(self)
        self._ending = asyncio.ensure_future(self._server.end())

    async def close(self) -> None:
        """End the session and the connection."""
        if self._transport is not None:
            self._transport.close()
        await self._server.end()


async def _websocket_client(connection: ServerConnection) -> None:
    """Serve one client until either side leaves."""
    from websockets.exceptions import ConnectionClosed

    server = create_server()
    outgoing = _Outgoing(connection.send, connection.close)
    server.protocol.set_writer(outgoing, include_headers=False)
    server.leave = lambda _code: outgoing.close()
    sending = asyncio.ensure_future(outgoing.run())
    try:
        async for message in connection:
            server.protocol.receive([message.encode() if isinstance(message, str) else message])
    except ConnectionClosed:
        pass
    finally:
        sending.cancel()
        await server.end()


class _Outgoing:
    """Sends frames one after the other, in the order in which they were written."""

    def __init__(self, send: Callable[[str], Awaitable[None]], close: Callable[[], Awaitable[None]]) -> None:
        self._send: Final = send
        self._close: Final = close
        self._waiting: Final[asyncio.Queue[str | None]] = asyncio.Queue()

    def write(self, data: bytes) -> None:
        """Send `data` when what was written before it is sent."""
        self._waiting.put_nowait(data.decode())

    def close(self) -> None:
        """Close the connection behind what is still to be sent."""
        self._waiting.put_nowait(None)

    async def run(self) -> None:
        """Send until the connection is closed."""
        from websockets.exceptions import ConnectionClosed

        with contextlib.suppress(ConnectionClosed):
            while (frame := await self._waiting.get()) is not None:
                await self._send(frame)
            await self._close()
