"""A server of web pages for a browser on this machine, each with a WebSocket.

A client could read the prompts and run their functions. So the server listens only on the loopback
interface, its address contains a random token, and requests for a different host or from a different page
are refused.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import html
import json
import logging
import os
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, TypeVar

from websockets.asyncio.server import ServerConnection, serve
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from promptls.cli.arguments import port_number
from promptls.cli.terminal import paint
from promptls.server.port_access import LOOPBACK, new_token, own_hosts, path_pieces, refusal
from promptls.text.errors import FilePlace, UserError

FOLDER: Final = Path(__file__).resolve().parents[2] / "pages"
"""The pages, which the build of the VS Code extension puts here, and which wheels include."""
_KINDS: Final = {".js": "text/javascript", ".css": "text/css"}
_MAX_BYTES: Final = 32 << 20
"""The maximum message size of a page, which sends back the texts whose tokens it shows."""


log = logging.getLogger(__name__)

Talker = TypeVar("Talker", bound="PageConversation")


@dataclass(frozen=True, slots=True)
class Page:
    """A page: the name of its script, its title, and the handler of its connections.

    Its address is `at` after the token; its WebSocket is `live-` followed by its name.
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
        """The last component of its WebSocket's address."""
        return f"live-{self.name}"


@contextlib.asynccontextmanager
async def serving(pages: Sequence[Page], port: int) -> AsyncIterator[str]:
    """Serve the pages on a port (0 for any free one) in the `with` block; yield the address of the first.

    Raises UserError if the pages are not installed or the port is in use.
    """
    token = new_token()
    door = _RequestHandler(token, pages)

    async def converse(connection: ServerConnection) -> None:
        socket = path_pieces(connection.request)[1] if connection.request else ""
        await next(page for page in pages if page.socket == socket).converse(connection)

    try:
        server = await serve(
            converse,
            LOOPBACK,
            port,
            process_request=door.answer,
            max_size=_MAX_BYTES,
            server_header=None,
            compression=None,
        )
    except OSError as error:
        raise UserError(
            f"the port {port} cannot be listened on ({error.strerror})",
            remedy="choose another with --port, or leave it out for any free one",
        ) from None
    async with server:
        port = server.sockets[0].getsockname()[1]
        yield f"http://{LOOPBACK}:{port}/{token}/"


@contextlib.asynccontextmanager
async def opened_in_browser(address: str) -> AsyncIterator[None]:
    """Open the address in the user's browser; print a message if there is none.

    Every user of the machine can read command lines, and the address contains the token. So the browser opens
    a private file that redirects to the address, and is deleted at the end.
    """
    import webbrowser

    with tempfile.TemporaryDirectory(prefix="promptls-", ignore_cleanup_errors=True) as folder:
        file = Path(folder, "open.html")
        with os.fdopen(
            os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8"
        ) as page:
            page.write(_REDIRECT.format(address=html.escape(address)))
        if not await asyncio.to_thread(webbrowser.open, file.as_uri()):
            print("No browser could be opened: open the address yourself.", file=sys.stderr)
        yield


async def serve_watched(
    pages: Sequence[Page], title: str, watch: Coroutine[Any, Any, None], arguments: argparse.Namespace
) -> None:
    """Serve the pages, and `watch` what they show, until cancelled; raises UserError like `serving`."""
    watching = asyncio.ensure_future(watch)
    try:
        async with serving(pages, arguments.port) as address:
            print(f"{paint(title, 'bold')} at {address}\nCtrl+C ends the page.", flush=True)
            async with contextlib.nullcontext() if arguments.no_open else opened_in_browser(address):
                await watching
    finally:
        watching.cancel()


def _files(pages: Sequence[Page]) -> dict[str, tuple[str, bytes]]:
    """Return the files of the pages: content type and bytes, by name; raises UserError if one is missing."""
    names = dict.fromkeys(name for page in pages for name in page.files)
    missing = next((name for name in names if not (FOLDER / name).is_file()), None)
    if missing:
        raise UserError(
            "this installation of promptls has no pages for a browser",
            remedy="install it from a wheel; in a checkout, `make setup` builds them",
        )
    return {name: (_KINDS[Path(name).suffix], (FOLDER / name).read_bytes()) for name in names}


class _RequestHandler:
    """Decides which requests are allowed, and responds to those for a file."""

    def __init__(self, token: str, pages: Sequence[Page]) -> None:
        self._token: Final = token
        self._files: Final = _files(pages)
        self._pages: Final = {page.at: page for page in pages}
        self._sockets: Final = frozenset(page.socket for page in pages)

    async def answer(self, connection: ServerConnection, request: Request) -> Response | None:
        """Return the response to a request; None for one that opens a WebSocket."""
        own = [f"http://{host}" for host in own_hosts(connection)]
        if refused := refusal(connection, request, self._token, own):
            return _response(*refused)
        name = path_pieces(request)[1]
        if name in self._sockets and request.headers.get("Origin"):
            return None
        if name in self._pages:
            return _response(HTTPStatus.OK, _html(self._pages[name]), "text/html")
        if name not in self._files:
            return _response(HTTPStatus.NOT_FOUND, "There is no such page.\n")
        kind, body = self._files[name]
        return _response(HTTPStatus.OK, body, kind)


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
_REDIRECT: Final = """\
<!DOCTYPE html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta http-equiv="refresh" content="0; url={address}">
  <title>promptls</title>
</head>
<body><a href="{address}">Open the page</a></body>
</html>
"""
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def _response(status: HTTPStatus, body: str | bytes, kind: str = "text/plain") -> Response:
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


def add_page_arguments(parser: argparse._ActionsContainer) -> None:
    """Declare how to serve the page."""
    parser.add_argument(
        "--port", metavar="PORT", type=port_number, default=0, help="port (default: any free one)"
    )
    parser.add_argument("--no-open", action="store_true", help="print the address without opening a browser")


def serve_until_interrupted(serving: Coroutine[Any, Any, None], ended: str) -> int:
    """Serve until Ctrl+C, then print that it has `ended`; raises UserError if it cannot be served."""
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serving)
    print(f"\n{ended}", file=sys.stderr)
    return 0


class PageConversation(ABC):
    """One page, from its first message until it is closed."""

    def __init__(self, connection: ServerConnection) -> None:
        self._connection: Final = connection
        self._tasks: Final[set[asyncio.Task[None]]] = set()

    @abstractmethod
    def refresh(self) -> None:
        """Refresh the page: its content may be out of date."""

    @abstractmethod
    def receive(self, message: dict[str, Any]) -> None:
        """Handle a message of the page; anything but a JSON object is passed as an empty one."""

    async def run(self) -> None:
        """Serve the page until it is closed."""
        try:
            async for text in self._connection:
                self.receive(_message(text))
        except ConnectionClosed:
            pass
        finally:
            for task in self._tasks:
                task.cancel()

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start a task, which ends when it is done or the page is closed."""
        task = asyncio.ensure_future(self._until_closed(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def send(self, message: dict[str, Any]) -> None:
        """Send a message; raises ConnectionClosed if the page has been closed."""
        await self._connection.send(json.dumps(message))

    async def _until_closed(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except ConnectionClosed:
            return


async def talk_among(pages: set[Talker], page: Talker) -> None:
    """Serve a page until it is closed; meanwhile, it is one of the `pages`."""
    pages.add(page)
    try:
        await page.run()
    finally:
        pages.discard(page)


def sentence(failure: Exception) -> str:
    """Return the failure for the reader of a page, with the name of its file and the remedy."""
    if not isinstance(failure, UserError):
        log.error("the page failed", exc_info=failure)
        return f"promptls failed unexpectedly ({type(failure).__name__}); the terminal shows details"
    remedy = f"; {failure.remedy}" if failure.remedy else ""
    place = f"{Path(failure.place.path).name}: " if isinstance(failure.place, FilePlace) else ""
    return f"{place}{failure.message}{remedy}"


def _message(text: str | bytes) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


class ShownPage(PageConversation):
    """One page, which is updated sequentially; of pending updates, only the latest is shown."""

    def __init__(self, connection: ServerConnection) -> None:
        super().__init__(connection)
        self._refresh_requested: Final = asyncio.Event()

    @abstractmethod
    async def show(self) -> None:
        """Show the current content; exceptions are reported to the page."""

    @abstractmethod
    async def answered(self, question: str, argument: dict[str, Any]) -> Mapping[str, Any]:
        """Return the response to a request of the page; exceptions are reported to the page."""

    def failed(self, error: Exception) -> dict[str, Any]:
        """Return the message that something could not be shown."""
        return {"type": "fail", "message": sentence(error)}

    def refresh(self) -> None:
        """Refresh the page: its content may be out of date."""
        self._refresh_requested.set()

    async def run(self) -> None:
        """Serve the page until it is closed."""
        self.start(self._show_always())
        await super().run()

    async def answer(self, message: Mapping[str, Any]) -> None:
        """Respond to the request in a message."""
        argument = message.get("argument")
        answer: dict[str, Any] = {"type": "answer", "id": message.get("id")}
        try:
            arguments = argument if isinstance(argument, dict) else {}
            answer["result"] = await self.answered(str(message.get("question")), arguments)
        except Exception as error:  # noqa: BLE001 - the page must not wait forever, whatever it is
            answer["error"] = sentence(error)
        await self.send(answer)

    async def _show_always(self) -> None:
        while True:
            await self._refresh_requested.wait()
            self._refresh_requested.clear()
            try:
                await self.show()
            except ConnectionClosed:
                return
            except Exception as error:  # noqa: BLE001 - the next change must still be shown
                await self.send(self.failed(error))
