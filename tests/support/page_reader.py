"""The page's end of the connection to its server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from promptls.cli.pages.page_server import Page, serving

PATIENCE = 20.0
"""The timeout in seconds for one message."""


class Reader:
    """The messages that a page sends and receives."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection

    async def send(self, **message: Any) -> None:
        await self.connection.send(json.dumps(message))

    async def received(self, kind: str = "show") -> dict[str, Any]:
        """Return the next message of a kind; skip others."""
        while True:
            message: dict[str, Any] = json.loads(await asyncio.wait_for(self.connection.recv(), PATIENCE))
            if message["type"] == kind:
                return message

    async def answer(self, question: str, argument: object) -> Any:
        """Return the answer to a question, or the error as a text."""
        await self.send(type="ask", id=1, question=question, argument=argument)
        said = await self.received("answer")
        return said.get("result", said.get("error"))


def write_pages(folder: Path) -> None:
    """Write pages in place of the built ones, which no test of the server needs."""
    folder.mkdir()
    for name in ("preview", "truncation", "results"):
        for file in (f"{name}.js", f"{name}-style.css"):
            (folder / file).write_text(f"/* {file} */", "utf-8")
    (folder / "browser.css").write_text("/* browser.css */", "utf-8")


@asynccontextmanager
async def reading_page(pages: Sequence[Page], name: str) -> AsyncIterator[Reader]:
    """Serve the page with this name, and connect to it."""
    async with serving(pages, 0) as address:
        own = address[: address.index("/", 8)]
        async with connect(f"{address.replace('http', 'ws')}live-{name}", origin=own) as connection:
            yield Reader(connection)
