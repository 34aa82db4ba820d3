"""Running an experiment in a process of its own: what the language server calls.

The server stays responsive, imports nothing of the user's, and survives the process's death.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

import promptls
from promptls.experiments.events import Event, Finished, Started, from_json
from promptls.experiments.request import RunRequest
from promptls.text.failure import Failure, FilePlace

# Seconds that a cancelled process has for telling where its finished rows are.
CANCEL_SECONDS = 1.0

# Bytes that one event may have; the last one carries the manifest.
LONGEST_EVENT = 256 * 1024 * 1024

# Characters of a dead process's own messages that a failure quotes.
QUOTED = 500


async def run_in_process(request: RunRequest, on_event: Callable[[Event], None]) -> Finished:
    """The end of the run that `request` asks for; every event before it goes to `on_event`.

    Cancelling the call ends the run at once; `Stopped` then tells where the finished rows are.
    Raises `Failure` for whatever the run fails with, and when its process dies: then with the
    place of the finished rows.
    """
    with tempfile.TemporaryFile() as messages:
        process = await asyncio.create_subprocess_exec(
            *[sys.executable, "-m", "promptls.experiments.process"],
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=messages,
            limit=LONGEST_EVENT,
            # `-m` puts the working folder first on the import path; in this one only promptls is found.
            cwd=Path(promptls.__file__).parent.parent,
        )
        run = _RunningProcess(process, messages, on_event)
        try:
            await run.send(asdict(request))
            return await run.follow()
        except asyncio.CancelledError:
            await run.cancel()
            raise
        finally:
            await run.end()


class _RunningProcess:
    """The process, and the journal that it said it keeps."""

    def __init__(
        self, process: asyncio.subprocess.Process, messages: IO[bytes], on_event: Callable[[Event], None]
    ) -> None:
        self._process = process
        self._messages = messages
        self._on_event = on_event
        self._journal: str | None = None

    async def send(self, value: Any) -> None:
        """One line to the process; a process that has died is noticed by its missing answer."""
        assert self._process.stdin is not None
        with contextlib.suppress(ConnectionError):
            self._process.stdin.write(json.dumps(value).encode() + b"\n")
            await self._process.stdin.drain()

    async def follow(self) -> Finished:
        """The last event; raises `Failure` when the run fails or its process ends without one."""
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            value = json.loads(line)
            if value["event"] == "Failed":
                raise _failure(value)
            if value["event"] == "Cancelled":
                break
            event = from_json(value)
            if isinstance(event, Started):
                self._journal = event.journal
            self._on_event(event)
            if isinstance(event, Finished):
                return event
        raise self._death(await self._process.wait())

    async def cancel(self) -> None:
        """The process has been told to stop, and has had a moment to say what it keeps."""
        await self.send({"cancel": True})
        with contextlib.suppress(asyncio.TimeoutError, Failure):
            await asyncio.wait_for(self.follow(), CANCEL_SECONDS)

    async def end(self) -> None:
        """The process is gone."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
        await self._process.wait()

    def _death(self, code: int) -> Failure:
        self._messages.seek(0)
        words = self._messages.read().decode(errors="replace").strip()
        last = words.splitlines()[-1][-QUOTED:] if words else ""
        ended = f"signal {-code}" if code < 0 else f"exit code {code}"
        return Failure(
            f"the process of the run ended unexpectedly ({ended}){f': {last}' if last else ''}",
            FilePlace(self._journal) if self._journal else None,
            "the finished rows are kept in that file; run it again"
            if self._journal
            else "no row was finished; run it again",
        )


def _failure(value: dict[str, Any]) -> Failure:
    path = value["path"]
    place = FilePlace(path, value["line"], value["column"]) if path else None
    return Failure(value["message"], place, value["remedy"])
