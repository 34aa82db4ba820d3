"""The language server on a port: over TCP with the framing of stdio, or over WebSocket, one message a frame.

Every client that connects gets its own server; clients share no state. A client can run a prompt's
functions and metrics, so it must present the token of the server: as part of the address over WebSocket,
in the first message over TCP.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import sys
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, Final, cast

from lsprotocol import types
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from promptls.server.json_rpc import decode_body, error_of
from promptls.server.port_access import Address, new_token, path_pieces, refusal, without_token
from promptls.server.server import create_server, set_up_logging
from promptls.server.stdio import MAX_MESSAGE_BYTES, Framing, frame_message
from promptls.text.errors import UserError

log = logging.getLogger(__name__)

MAX_FIRST_BYTES: Final = 1 << 20
"""The longest message of a client over TCP that has not sent the token."""
TOKEN_SECONDS: Final = 30
"""How long a client over TCP may stay connected without sending the token."""
_NEEDS_TOKEN: Final = error_of(
    types.ErrorCodes.InvalidRequest,
    "the first message must be `initialize`, with the token of this server in `initializationOptions.token`",
)


def run_tcp(address: Address, token: str | None) -> None:
    """Serve clients over TCP until the process is interrupted.

    If no token is passed, the server creates and prints one. Raises UserError if it cannot listen.
    """
    set_up_logging()
    asyncio.run(_serve_tcp(address, token))


def run_websocket(address: Address, token: str | None, origins: tuple[str, ...]) -> None:
    """Serve clients over WebSocket until the process is interrupted.

    If no token is passed, the server creates and prints one. `origins` are those of the web pages that may
    connect. Raises UserError if the server cannot listen.
    """
    set_up_logging()
    asyncio.run(_serve_websocket(address, token, origins))


async def _serve_tcp(address: Address, chosen: str | None) -> None:
    clients: set[TcpClient] = set()
    token = chosen or new_token()
    started = asyncio.get_running_loop().create_server(lambda: TcpClient(clients, token), *_pair(address))
    listening = await _listening(address, started)
    shown = "the token that you chose" if chosen else token
    places = " and ".join(f"tcp://{place}" for place in _places(listening))
    _announce(f"{places} (initializationOptions.token: {shown})")
    try:
        # From Python 3.12 on, the end of `serve_forever` waits for the clients, which are closed below.
        await asyncio.get_running_loop().create_future()
    finally:
        listening.close()
        for client in list(clients):
            await client.close()


async def _serve_websocket(address: Address, chosen: str | None, origins: tuple[str, ...]) -> None:
    token = chosen or new_token()

    def answer(connection: ServerConnection, request: Request) -> Response | None:
        refused = refusal(connection, request, token, origins)
        if refused is None and path_pieces(request)[1]:
            refused = HTTPStatus.NOT_FOUND, "There is nothing here: the address ends with its token.\n"
        return connection.respond(*refused) if refused else None

    started = serve(
        _websocket_client,
        *_pair(address),
        process_request=answer,
        max_size=MAX_MESSAGE_BYTES,
        compression=None,
    )
    listening = await _listening(address, started)
    shown = "<the token that you chose>" if chosen else token
    _announce(" and ".join(f"ws://{place}/{shown}" for place in _places(listening)))
    await listening.serve_forever()


def _pair(address: Address) -> tuple[str, int]:
    return address.host, address.port


async def _listening(address: Address, started: Awaitable[Any]) -> Any:
    """Return the listening server; raises UserError with the reason if it cannot listen."""
    try:
        return await started
    except (OSError, OverflowError) as error:
        code = getattr(error, "errno", None)
        if code == errno.EADDRINUSE:
            reason, remedy = "is taken by another program", "choose another port, or 0 for any free one"
        elif code == errno.EACCES:
            reason, remedy = "may not be used by this user", "choose a port above 1023"
        else:
            reason, remedy = f"cannot be listened on ({error})", "check the host and the port"
        raise UserError(f"the address {address} {reason}", remedy=remedy) from None


def _places(listening: Any) -> list[Address]:
    """Return the addresses of the server, with the actual port if any free one was requested."""
    return [Address(*each.getsockname()[:2]) for each in listening.sockets]


def _announce(places: str) -> None:
    sys.stderr.write(f"promptls listens on {places}; Ctrl+C ends it.\n")
    sys.stderr.flush()


class TcpClient(asyncio.Protocol):
    """One client over TCP; reading from it pauses while it does not read what was sent to it."""

    def __init__(self, clients: set[TcpClient], token: str) -> None:
        self._clients: Final = clients
        self._token: str | None = token
        """The token that the first message must contain; None once it was received."""
        self._refused = False
        self._framing: Final = Framing(MAX_FIRST_BYTES)
        self._server: Final = create_server()
        self._transport: asyncio.Transport | None = None
        self._waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start a session."""
        self._transport = cast("asyncio.Transport", transport)
        self._clients.add(self)
        self._server.protocol.leave = _ignore_exit
        self._server.protocol.set_writer(TcpWriter(self._transport), include_headers=False)
        self._waiting = asyncio.get_running_loop().call_later(TOKEN_SECONDS, transport.close)

    def data_received(self, data: bytes) -> None:
        """Handle the messages that are complete, if the first one carries the token."""
        assert self._transport is not None
        if self._refused:
            return
        protocol = self._server.protocol
        bodies = self._framing.bodies(data)
        if bodies and self._token is not None:
            first = without_token(bodies[0], self._token)
            if first is None:
                log.warning("a client without the token is refused")
                protocol.refuse(decode_body(bodies[0]), _NEEDS_TOKEN)
                # If the connection were closed while the client is still sending, the client would get a
                # reset instead of the answer. The client closes it, or the timer does.
                self._refused = True
                self._transport.write_eof()
                return
            self._let_in()
            bodies[0] = first
        if bodies:
            for body in bodies:
                protocol.receive(body)
        if self._framing.error is not None:
            log.error("a connection is closed: %s", self._framing.error)
            if self._token is None:  # a client without the token may be a web page, and gets no answer
                protocol.refuse(None, error_of(types.ErrorCodes.ParseError, self._framing.error))
            self._transport.close()

    def _let_in(self) -> None:
        """Accept messages without a token and of the full length from now on."""
        assert self._waiting is not None
        self._waiting.cancel()
        self._token = None
        self._framing.max_bytes = MAX_MESSAGE_BYTES

    def pause_writing(self) -> None:
        """Stop reading until the client reads."""
        if self._transport is not None:
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        """Resume reading."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def connection_lost(self, _error: Exception | None) -> None:
        """End the session."""
        self._clients.discard(self)
        if self._waiting is not None:
            self._waiting.cancel()
        self._ending = asyncio.ensure_future(self._server.end())

    async def close(self) -> None:
        """End the session and the connection."""
        if self._transport is not None:
            self._transport.close()
        await self._server.end()


class TcpWriter:
    """Writes each message with its header."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport: Final = transport

    def write(self, body: bytes) -> None:
        """Send a message."""
        self._transport.write(frame_message(body))

    def close(self) -> None:
        """Close the connection after sending what is pending."""
        self._transport.close()


def _ignore_exit(_code: int) -> None:
    """Do nothing on `exit` besides closing the connection, since the process serves other clients."""


async def _websocket_client(connection: ServerConnection) -> None:
    """Serve one client until either side leaves."""
    server = create_server()
    outgoing = WebSocketWriter(connection.send, connection.close)
    server.protocol.set_writer(outgoing, include_headers=False)
    server.protocol.leave = _ignore_exit
    sending = asyncio.ensure_future(outgoing.run())
    try:
        async for message in connection:
            server.protocol.receive(message.encode() if isinstance(message, str) else message)
    except ConnectionClosed as closed:
        log.warning("a connection was lost: %s", closed)
    finally:
        sending.cancel()
        await server.end()


class WebSocketWriter:
    """Sends frames one at a time, in the order in which they were written."""

    def __init__(self, send: Callable[[str], Awaitable[None]], close: Callable[[], Awaitable[None]]) -> None:
        self._send: Final = send
        self._close: Final = close
        self._waiting: Final[asyncio.Queue[str | None]] = asyncio.Queue()

    def write(self, data: bytes) -> None:
        """Queue `data` to be sent."""
        self._waiting.put_nowait(data.decode())

    def close(self) -> None:
        """Close the connection after sending what is pending."""
        self._waiting.put_nowait(None)

    async def run(self) -> None:
        """Send until the connection is closed."""
        with contextlib.suppress(ConnectionClosed):
            while (frame := await self._waiting.get()) is not None:
                await self._send(frame)
            await self._close()
