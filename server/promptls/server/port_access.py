"""Access control for the ports of promptls: the token, and checks of the `Host` and `Origin` headers.

Any user and any web page on this machine can connect to its ports. The token keeps both out. The check of
`Host` rejects a page whose domain name resolves to this machine (DNS rebinding), the check of `Origin` a
page that has obtained the token.
"""

from __future__ import annotations

import hmac
import ipaddress
import os
import re
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Final

from websockets.asyncio.server import ServerConnection
from websockets.http11 import Request

from promptls.server.json_rpc import decode_body, encode_message
from promptls.text.errors import FilePlace, UsageError

LOOPBACK: Final = "127.0.0.1"
_VARIABLE: Final = "PROMPTLS_TOKEN"
_TOKEN: Final = re.compile(r"[A-Za-z0-9._~-]{16,512}")
"""Characters that need no escaping in a URL, and enough of them to be hard to guess."""


@dataclass(frozen=True, slots=True)
class Address:
    """A host and a port to listen on; port 0 is any free one."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether the host is reachable only from this machine."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"


def new_token() -> str:
    """Return a random token that can be part of a URL."""
    return secrets.token_urlsafe(24)


def chosen_token(file: Path | None) -> str | None:
    """Return the token in the file or else in the environment; None if neither is set.

    The variable is removed, so that the processes of the server do not get it. Raises UsageError if
    the token is too short or contains characters that a URL would need to escape.
    """
    variable = os.environ.pop(_VARIABLE, None)
    if file is not None:
        token = file.read_bytes().decode("utf-8", "replace").strip()
    elif variable is not None:
        token = variable
    else:
        return None
    if not _TOKEN.fullmatch(token):
        raise UsageError(
            f"the token{'' if file else f' in {_VARIABLE}'} must have 16 to 512 characters, of letters, "
            "digits, `-`, `_`, `.` and `~`",
            FilePlace(file) if file else None,
            "make one with `openssl rand -hex 16`",
        )
    return token


def own_hosts(connection: ServerConnection) -> tuple[str, ...]:
    """Return the values of `Host` under which this machine reaches itself; none for another machine."""
    address = Address(*connection.local_address[:2])
    return (str(address), f"localhost:{address.port}") if address.is_loopback else ()


def refusal(
    connection: ServerConnection, request: Request, token: str, origins: Collection[str]
) -> tuple[HTTPStatus, str] | None:
    """Return why a request over HTTP is refused; None if it may be answered.

    Its path must begin with the token. If it has an `Origin`, that must be one of `origins`.
    """
    named = request.headers.get_all("Host")
    hosts = own_hosts(connection)
    if len(named) != 1 or (hosts and named[0] not in hosts):
        return HTTPStatus.MISDIRECTED_REQUEST, "This address is not served here.\n"
    if not _is_same(path_pieces(request)[0], token):
        return HTTPStatus.NOT_FOUND, "There is nothing here: the address lacks its token.\n"
    pages = request.headers.get_all("Origin")
    if len(pages) > 1 or not set(pages) <= set(origins):
        return HTTPStatus.FORBIDDEN, "Pages of other origins are refused.\n"
    return None


def path_pieces(request: Request) -> tuple[str, str]:
    """Return the first piece of a request's path, and everything after it."""
    first, _, rest = request.path.partition("?")[0].removeprefix("/").partition("/")
    return first, rest


def without_token(body: bytes, token: str) -> bytes | None:
    """Return an `initialize` request without its token; None for other messages, or if the token is wrong."""
    message = decode_body(body)
    if not isinstance(message, dict) or message.get("method") != "initialize":
        return None
    params = message.get("params")
    options = params.get("initializationOptions") if isinstance(params, dict) else None
    sent = options.pop("token", None) if isinstance(options, dict) else None
    return encode_message(message) if isinstance(sent, str) and _is_same(sent, token) else None


def _is_same(sent: str, token: str) -> bool:
    """Compare in constant time."""
    return hmac.compare_digest(sent.encode("utf-8", "surrogatepass"), token.encode())
