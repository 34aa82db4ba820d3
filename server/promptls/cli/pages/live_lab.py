"""The truncation lab of a file on disk, for a page in a browser."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from promptls.cli.pages.conversation import Conversation, sentence

if TYPE_CHECKING:
    from websockets.asyncio.server import ServerConnection

    from promptls.preview import wire
    from promptls.rendering.worker import Tell


class LabConversation(Conversation):
    """One page: it is shown what was found for its last options, and hears when the file has changed."""

    def __init__(
        self,
        explore: Callable[[Mapping[str, Any], Tell], Awaitable[wire.LabResult]],
        connection: ServerConnection,
    ) -> None:
        super().__init__(connection)
        self._explore: Final = explore
        self._exploring: asyncio.Task[None] | None = None

    def refresh(self) -> None:
        """Say that the prompt is not any more what was explored."""
        self.start(self.send({"type": "stale"}))

    def receive(self, message: dict[str, Any]) -> None:
        """Explore with what the page chose; what is still being explored is given up."""
        if message.get("type") not in {"ready", "explore"}:
            return
        options = message.get("options")
        if self._exploring is not None:
            self._exploring.cancel()
        self._exploring = self.start(self._show(options if isinstance(options, dict) else {}))

    async def _show(self, options: dict[str, Any]) -> None:
        def tell(what: str, done: int, count: int) -> None:
            self.start(self.send({"type": "progress", "words": f"{what}: {done} of {count}"}))

        await self.send({"type": "busy"})
        try:
            message = {"type": "show", "result": await self._explore(options, tell)}
        except Exception as error:  # noqa: BLE001 - whatever it is, the page must not wait for ever
            message = {"type": "fail", "message": sentence(error)}
        await self.send(message)
