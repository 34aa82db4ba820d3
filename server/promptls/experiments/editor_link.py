"""How the process of a run asks for the models of the editor that has started it: both ends.

The process writes `{"event": "AskEditor", "id", "model", "messages", "parameters"}` among its events, and
`{"event": "LeaveEditor", "id"}` where it wants no answer any more. It reads `{"answer": …, "id"}`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from itertools import count
from typing import Any, Final

from promptls.models.editor_model import AskEditor

QUESTIONS: Final = frozenset({"AskEditor", "LeaveEditor"})
"""The events that the editor is asked with."""


class EditorLink:
    """The end in the process of a run: questions that wait for their answers."""

    def __init__(self, tell: Callable[[Mapping[str, Any]], None]) -> None:
        self._tell = tell
        self._numbers = count()
        self._waiting: dict[int, asyncio.Future[Mapping[str, Any]]] = {}

    async def ask(self, question: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the editor's answer; a cancelled call lets the editor stop its work."""
        number = next(self._numbers)
        waiting: asyncio.Future[Mapping[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = waiting
        self._tell({"event": "AskEditor", "id": number, **question})
        try:
            return await waiting
        except asyncio.CancelledError:
            self._tell({"event": "LeaveEditor", "id": number})
            raise
        finally:
            del self._waiting[number]

    def answered(self, line: Mapping[str, Any]) -> None:
        """Take an answer; one that nobody waits for any more is left."""
        waiting = self._waiting.get(line["id"])
        if waiting is not None and not waiting.done():
            waiting.set_result(line["answer"])


class EditorAnswers:
    """The end of whoever started the process: questions that the editor works on."""

    def __init__(self, ask: AskEditor | None, send: Callable[[Any], Awaitable[None]]) -> None:
        self._ask = ask
        self._send = send
        self._asked: dict[int, asyncio.Task[None]] = {}

    def hear(self, event: Mapping[str, Any]) -> None:
        """Take one of the `QUESTIONS`."""
        number = event["id"]
        if event["event"] == "AskEditor":
            question = {name: event[name] for name in ("model", "messages", "parameters")}
            self._asked[number] = asyncio.ensure_future(self._answer(number, question))
        elif (asked := self._asked.pop(number, None)) is not None:
            asked.cancel()

    def close(self) -> None:
        """No question is worked on any more."""
        for asked in self._asked.values():
            asked.cancel()
        self._asked.clear()

    async def _answer(self, number: int, question: Mapping[str, Any]) -> None:
        assert self._ask is not None
        answer = await self._ask(question)
        self._asked.pop(number, None)
        await self._send({"id": number, "answer": answer})
