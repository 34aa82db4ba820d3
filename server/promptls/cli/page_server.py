"""Serves the pages of the package to a browser of this machine, each with a web socket behind it.

Whoever reaches the port could read the prompts and run their functions. So it listens on the
loopback interface alone, its address holds a random token, and requests are turned away that name
another host or come from another page.
"""

from __future__ import annotations

import contextlib
import hmac
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
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
FOLDER: Final = Path(__file__).resolve().parent.parent / "pages"
"""What the build of the VS Code extension puts here, and wheels carry."""
_KINDS: Final = {".js": "text/javascript", ".css": "text/css"}
_LIVE: Final = "live"
_MOST_BYTES: Final = 32 << 20
"""The longest message of a page: it sends back the texts whose tokens it shows."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page by the name of its script, with its title."""

    name: str
    title: str


@contextlib.asynccontextmanager
async def serving(
    page: Page, port: int, converse: Callable[[ServerConnection], Awaitable[None]]
) -> AsyncIterator[str]:
    """Serve the page on a port (0 for any free one) meanwhile; gives the page's address.

    `converse` talks with each page that connects. Raises Failure where the pages are not installed
    or the port is taken.
    """
    from websockets.asyncio.server import serve

    files = _files(page)
    door = _Door(secrets.token_urlsafe(24), files)
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


def _files(page: Page) -> dict[str, tuple[str, bytes]]:
    """What the page is made of: by name, its kind and bytes; raises Failure where it is not there."""
    names = (f"{page.name}.js", f"{page.name}-style.css", "browser.css")
    missing = next((name for name in names if not (FOLDER / name).is_file()), None)
    if missing:
        raise Failure(
            "this installation of promptls holds no pages for a browser",
            remedy="install it from a wheel; in a checkout, `make setup` builds them",
        )
    return {name: (_KINDS[Path(name).suffix], (FOLDER / name).read_bytes()) for name in names}


class _Door:
    """Decides which requests are let in, and answers those that are for a file."""

    def __init__(self, token: str, files: dict[str, tuple[str, bytes]]) -> None:
        self.token: Final = token
        self.port = 0
        self._files: Final = files

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
        if name == _LIVE and is_own:
            return None
        if name == "":
            return _response(HTTPStatus.OK, self._html(), "text/html")
        if name not in self._files:
            return _response(HTTPStatus.NOT_FOUND, "There is no such page.\n")
        kind, body = self._files[name]
        return _response(HTTPStatus.OK, body, kind)

    def _hosts(self) -> tuple[str, ...]:
        return f"{LOOPBACK}:{self.port}", f"localhost:{self.port}"

    def _html(self) -> str:
        style, script = (
            next(name for name in self._files if name.endswith(end)) for end in ("-style.css", ".js")
        )
        return _HTML.format(style=style, script=script)


_HTML: Final = """\
<!DOCTYPE html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>promptls preview</title>
  <link rel="icon" href="data:,">
  <link rel="stylesheet" href="browser.css">
  <link rel="stylesheet" href="{style}">
</head>
<body>
  <div id="root"></div>
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
