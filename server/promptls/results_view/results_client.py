"""The client of the process that reads runs, so that reading long tables does not block its user."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from collections.abc import Mapping
from typing import Any, Final

from promptls.security.files import current_scope
from promptls.security.processes import start_module
from promptls.text.errors import UserError, error_of

IDLE_SECONDS: Final = 300.0
"""How long the process, with its cached tables, remains after the last request."""

_LONGEST_ANSWER: Final = 256 << 20
"""The maximum size of a response in bytes; the longest is a report."""


class ResultsProcess:
    """One process, started by the first request, and restarted after it has ended."""

    def __init__(self, idle_seconds: float = IDLE_SECONDS) -> None:
        self._idle_seconds: Final = idle_seconds
        self._running: _Running | None = None
        self._starting: Final = asyncio.Lock()
        self._ending: asyncio.TimerHandle | None = None

    @property
    def pid(self) -> int | None:
        """The id of the process; None if it is not running."""
        return None if self._running is None or self._running.has_ended else self._running.pid

    async def ask(self, question: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the response of `promptls.results_view.results_process`.

        Raises UserError, also if the process dies.
        """
        async with self._starting:
            if self._ending is not None:
                self._ending.cancel()
            if self._running is None or self._running.has_ended:
                self._running = await _Running.start()
            running = self._running
        try:
            return await running.ask(question, arguments)
        finally:
            if not running.has_requests and running is self._running:
                self._ending = asyncio.get_running_loop().call_later(self._idle_seconds, running.end)

    async def close(self) -> None:
        """Terminate the process."""
        if self._ending is not None:
            self._ending.cancel()
        if self._running is not None:
            self._running.end()
        await self.ended()

    async def ended(self) -> None:
        """Reset the client after the process has ended."""
        if self._running is not None:
            await self._running.reader


class _Running:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process: Final = process
        self._waiting: Final[dict[int, asyncio.Future[dict[str, Any]]]] = {}
        self._ids: Final = itertools.count(1)
        self.has_ended = False
        self.reader: Final = asyncio.ensure_future(self._read())

    @classmethod
    async def start(cls) -> _Running:
        return cls(await start_module("promptls.results_view.results_process", limit=_LONGEST_ANSWER))

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def has_requests(self) -> bool:
        return bool(self._waiting)

    async def ask(self, question: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        request_id = next(self._ids)
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = answer
        roots = current_scope().roots
        line = json.dumps(
            {"id": request_id, "question": question, "arguments": dict(arguments), "roots": roots}
        )
        assert self._process.stdin is not None
        try:
            # A dead process is detected by its missing response.
            with contextlib.suppress(ConnectionError):
                self._process.stdin.write(line.encode() + b"\n")
                await self._process.stdin.drain()
            return await answer
        finally:
            self._waiting.pop(request_id, None)

    def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        self.has_ended = True

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            said = json.loads(line)
            answer = self._waiting.get(said["id"])
            if answer is None or answer.done():
                continue
            if "failure" in said:
                answer.set_exception(error_of(said["failure"]))
            else:
                answer.set_result(said["answer"])
        code = await self._process.wait()
        self.has_ended = True
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(
                    UserError(f"the process that reads the results ended ({code})", None, "ask again")
                )
