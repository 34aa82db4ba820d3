"""A page in a browser, and its JSON messages over a web socket."""

from __future__ import annotations

import asyncio
import json
import logging
from abc import ABC, abstractmethod
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from promptls.text.errors import FilePlace, UserError

if TYPE_CHECKING:
    from websockets.asyncio.server import ServerConnection

log = logging.getLogger(__name__)

Page = TypeVar("Page", bound="Conversation")


class Conversation(ABC):
    """One page, from its first message until it is closed."""

    def __init__(self, connection: ServerConnection) -> None:
        self._connection: Final = connection
        self._tasks: Final[set[asyncio.Task[None]]] = set()

    @abstractmethod
    def refresh(self) -> None:
        """Refresh the page: its content may be out of date."""

    @abstractmethod
    def receive(self, message: dict[str, Any]) -> None:
        """Take a message of the page; what is no JSON object comes as an empty one."""

    async def run(self) -> None:
        """Talk until the page is closed."""
        from websockets.exceptions import ConnectionClosed

        try:
            async for text in self._connection:
                self.receive(_message(text))
        except ConnectionClosed:
            pass
        finally:
            for task in self._tasks:
                task.cancel()

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Return the task that does the work, until it is done or the page is closed."""
        task = asyncio.ensure_future(self._until_closed(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def send(self, message: dict[str, Any]) -> None:
        """Say something; raises ConnectionClosed where the page has gone."""
        await self._connection.send(json.dumps(message))

    async def _until_closed(self, work: Coroutine[Any, Any, None]) -> None:
        from websockets.exceptions import ConnectionClosed

        try:
            await work
        except ConnectionClosed:
            return


async def talk_among(pages: set[Page], page: Page) -> None:
    """Talk with a page until it is closed; for as long it is one of the `pages`."""
    pages.add(page)
    try:
        await page.run()
    finally:
        pages.discard(page)


def sentence(failure: Exception) -> str:
    """Return the failure for the reader of a page, with the name of its file and what to do."""
    if not isinstance(failure, UserError):
        log.error("the page failed", exc_info=failure)
        return f"promptls failed unexpectedly ({type(failure).__name__}); the terminal says more"
    remedy = f"; {failure.remedy}" if failure.remedy else ""
    place = f"{Path(failure.place.path).name}: " if isinstance(failure.place, FilePlace) else ""
    return f"{place}{failure.message}{remedy}"


def _message(text: str | bytes) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
