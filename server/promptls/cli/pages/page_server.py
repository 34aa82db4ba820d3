"""Serves the pages of the package to a browser of this machine, each with a web socket behind it.

Whoever reaches the port could read the prompts and run their functions. So it listens on the
loopback interface alone, its address holds a random token, and requests are turned away that name
another host or come from another page.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import secrets
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from promptls.text.failure import Failure

if TYPE_CHECKING:
    from websockets.asyncio.server import ServerConnection
    from websockets.http11 import Request, Response

LOOPBACK: Final = "127.0.0.1"
FOLDER: Final = Path(__file__).resolve().parents[2] / "pages"
"""What the build of the VS Code extension puts here, and wheels carry."""
_KINDS: Final = {".js": "text/javascript", ".css": "text/css"}
_MOST_BYTES: Final = 32 << 20
"""The longest message of a page: it sends back the texts whose tokens it shows."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page by the name of its script, with its title, and who talks with it once it connects.

    Its address is `at` behind the token; its web socket is `live-` and its name.
    """

    name: str
    title: str
    converse: Callable[[ServerConnection], Awaitable[None]]
    at: str = ""

    @property
    def files(self) -> tuple[str, str, str]:
        """The names of its script and styles."""
        return f"{self.name}.js", f"{self.name}-style.css", "browser.css"

    @property
    def socket(self) -> str:
        """The last piece of its web socket's address."""
        return f"live-{self.name}"


@contextlib.asynccontextmanager
async def serving(pages: Sequence[Page], port: int) -> AsyncIterator[str]:
    """Serve the pages on a port (0 for any free one) meanwhile; gives the address of the first one.

    Raises Failure where the pages are not installed or the port is taken.
    """
    from websockets.asyncio.server import serve

    door = _Door(secrets.token_urlsafe(24), pages)

    async def converse(connection: ServerConnection) -> None:
        request = connection.request
        socket = urlsplit(request.path).path.rpartition("/")[2] if request else ""
        await next(page for page in pages if page.socket == socket).converse(connection)

    try:
        server = await serve(
            converse,
            LOOPBACK,
            port,
            process_request=door.answer,
            max_size=_MOST_BYTES,
            server_header=None,
            compression=None,
        )
    except OSError as error:
        raise Failure(
            f"the port {port} cannot be listened on ({error.strerror})",
            remedy="choose another with --port, or leave it out for any free one",
        ) from None
    async with server:
        door.port = server.sockets[0].getsockname()[1]
        yield f"http://{LOOPBACK}:{door.port}/{door.token}/"


async def open_in_browser(address: str) -> None:
    """The address is open in the browser of the user; where there is none, the terminal says so."""
    import webbrowser

    if not await asyncio.to_thread(webbrowser.open, address):
        print("No browser could be opened: open the address yourself.", file=sys.stderr)


def _files(pages: Sequence[Page]) -> dict[str, tuple[str, bytes]]:
    """What the pages are made of: by name, its kind and bytes; raises Failure where one is not there."""
    names = dict.fromkeys(name for page in pages for name in page.files)
    missing = next((name for name in names if not (FOLDER / name).is_file()), None)
    if missing:
        raise Failure(
            "this installation of promptls holds no pages for a browser",
            remedy="install it from a wheel; in a checkout, `make setup` builds them",
        )
    return {name: (_KINDS[Path(name).suffix], (FOLDER / name).read_bytes()) for name in names}


class _Door:
    """Decides which requests are let in, and answers those that are for a file."""

    def __init__(self, token: str, pages: Sequence[Page]) -> None:
        self.token: Final = token
        self.port = 0
        self._files: Final = _files(pages)
        self._pages: Final = {page.at: page for page in pages}
        self._sockets: Final = frozenset(page.socket for page in pages)

    async def answer(self, _connection: ServerConnection, request: Request) -> Response | None:
        """The response to a request; None for one that begins a web socket."""
        if request.headers.get_all("Host") not in [[host] for host in self._hosts()]:
            return _response(HTTPStatus.MISDIRECTED_REQUEST, "This address is not served here.\n")
        token, _, name = urlsplit(request.path).path.removeprefix("/").partition("/")
        if not hmac.compare_digest(token.encode(), self.token.encode()):
            return _response(HTTPStatus.NOT_FOUND, "There is nothing here: the address lacks its token.\n")
        origin = request.headers.get("Origin")
        is_own = origin in {f"http://{host}" for host in self._hosts()}
        if origin is not None and not is_own:
            return _response(HTTPStatus.FORBIDDEN, "Pages of other places are turned away.\n")
        if name in self._sockets and is_own:
            return None
        if name in self._pages:
            return _response(HTTPStatus.OK, _html(self._pages[name]), "text/html")
        if name not in self._files:
            return _response(HTTPStatus.NOT_FOUND, "There is no such page.\n")
        kind, body = self._files[name]
        return _response(HTTPStatus.OK, body, kind)

    def _hosts(self) -> tuple[str, ...]:
        return f"{LOOPBACK}:{self.port}", f"localhost:{self.port}"


def _html(page: Page) -> str:
    script, style, _ = page.files
    return _HTML.format(style=style, script=script, title=page.title, socket=page.socket)


_HTML: Final = """\
<!DOCTYPE html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>{title}</title>
  <link rel="icon" href="data:,">
  <link rel="stylesheet" href="browser.css">
  <link rel="stylesheet" href="{style}">
</head>
<body>
  <div id="root" data-socket="{socket}"></div>
  <script src="{script}"></script>
</body>
</html>
"""
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def _response(status: HTTPStatus, body: str | bytes, kind: str = "text/plain") -> Response:
    from websockets.datastructures import Headers
    from websockets.http11 import Response

    content = body.encode() if isinstance(body, str) else body
    headers = Headers(
        {
            "Content-Type": f"{kind}; charset=utf-8",
            "Content-Length": str(len(content)),
            "Content-Security-Policy": _POLICY,
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cache-Control": "no-store",
            "Connection": "close",
        }
    )
    return Response(status.value, status.phrase, headers, content)
