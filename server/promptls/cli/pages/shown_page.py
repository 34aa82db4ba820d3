"""A page that is refreshed when its content may be out of date, and that sends requests."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from promptls.cli.pages.conversation import Conversation, sentence

if TYPE_CHECKING:
    from websockets.asyncio.server import ServerConnection


class ShownPage(Conversation):
    """One page: it is shown one thing after the other, and of what is wanted meanwhile the newest only."""

    def __init__(self, connection: ServerConnection) -> None:
        super().__init__(connection)
        self._wanted: Final = asyncio.Event()

    @abstractmethod
    async def show(self) -> None:
        """Show what is wanted now; whatever this raises is said to the page."""

    @abstractmethod
    async def answered(self, question: str, argument: dict[str, Any]) -> Mapping[str, Any]:
        """Return the answer to a question of the page; whatever this raises is said to the page."""

    def failed(self, error: Exception) -> dict[str, Any]:
        """Return the message that something could not be shown."""
        return {"type": "fail", "message": sentence(error)}

    def refresh(self) -> None:
        """Refresh the page: its content may be out of date."""
        self._wanted.set()

    async def run(self) -> None:
        """Talk until the page is closed."""
        self.start(self._show_always())
        await super().run()

    async def answer(self, message: Mapping[str, Any]) -> None:
        """Answer the question in a message."""
        argument = message.get("argument")
        answer: dict[str, Any] = {"type": "answer", "id": message.get("id")}
        try:
            asked = argument if isinstance(argument, dict) else {}
            answer["result"] = await self.answered(str(message.get("question")), asked)
        except Exception as error:  # noqa: BLE001 - whatever it is, the page must not wait for ever
            answer["error"] = sentence(error)
        await self.send(answer)

    async def _show_always(self) -> None:
        from websockets.exceptions import ConnectionClosed

        while True:
            await self._wanted.wait()
            self._wanted.clear()
            try:
                await self.show()
            except ConnectionClosed:
                return
            except Exception as error:  # noqa: BLE001 - whatever it is, the next change must still be shown
                await self.send(self.failed(error))
