"""The process that renders and counts: how it is started, asked, watched and ended.

Nothing here imports Jinja, YAML or tiktoken: the process does.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from promptls.rendering import frames
from promptls.rendering.limits import Limits
from promptls.rendering.mark import marked_place, new_mark_file

Tell: TypeAlias = Callable[[str, int, int], None]
"""Hears of a long job what is being done, how much of it is done, and of how much."""

IMPORT_FOLDER = Path(__file__).resolve().parents[2]
"""The folder that the package `promptls` is imported from."""

END_SECONDS = 1.0
"""Seconds that a process which has closed its output has to end by itself."""


class LateError(Exception):
    """No answer came in time; `place` is the template file and line that the job was last seen at."""

    def __init__(self, place: tuple[str, int] | None) -> None:
        super().__init__()
        self.place = place


class RenderProcess:
    """At most one process at a time, started by the first message and again by one after its end.

    One message is answered after another: whoever uses it sees to that.
    """

    def __init__(self, limits: Limits) -> None:
        """Give a process the memory and each message the time of `limits`; none is started yet."""
        self._limits = limits
        self._process: asyncio.subprocess.Process | None = None
        self._requests = 0
        self._mark_file: Path | None = None
        """Where the process marks its place."""
        self._loaded: set[str] = set()
        """The encodings that the process has ready, so that a job runs from the moment it is sent."""

    @property
    def pid(self) -> int | None:
        """The number of the process; None where there is none."""
        return None if self._process is None else self._process.pid

    async def running(self) -> asyncio.subprocess.Process:
        """The process, started and ready; raises LateError, EOFError or OSError where it does not start."""
        if self._process is not None and self._process.returncode is None:
            return self._process
        await self.stop()
        self._loaded.clear()
        memory = self._limits.memory_bytes
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "promptls.rendering.process",
            "none" if memory is None else str(memory),
            str(self._new_mark_file()),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # `-m` puts the working folder first on the import path: in a user's folder, a file named
            # like a library would be run. Here only this package is found.
            cwd=IMPORT_FOLDER,
            # Without it, a console window opens on Windows.
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        await self._receive(self._process, time.monotonic() + self._limits.start_seconds, None)
        return self._process

    async def exchange(
        self, request: dict[str, Any], tell: Tell | None = None, encoding: str | None = None
    ) -> dict[str, Any]:
        """The answer to `request`; raises LateError, EOFError or OSError, and then the process is gone.

        Of a job, `encoding` is the one that it counts with: its time begins when that is loaded.
        """
        process = await self.running()
        assert process.stdin is not None
        self._requests += 1
        number = self._requests
        is_ready = encoding in self._loaded
        message = {"id": number, **request, "tells_start": encoding is not None and not is_ready}
        process.stdin.write(frames.encode(message))
        await process.stdin.drain()
        seconds = self._limits.seconds if is_ready else self._limits.start_seconds
        deadline = time.monotonic() + seconds
        place: tuple[str, int] | None = None
        while True:
            message = await self._receive(process, deadline, place)
            if message.get("id") != number:
                continue
            if "started" in message:
                self._loaded.add(message["started"])
                deadline = time.monotonic() + self._limits.seconds
            elif "progress" in message:
                deadline = time.monotonic() + self._limits.seconds
                if tell is not None:
                    tell(*message["progress"])
            elif "at" in message:
                path, line = message["at"]
                place = (path, line)
            else:
                return message

    def kill(self) -> None:
        """End the process without waiting for it: whoever waits for its answer sees it end."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()

    async def end(self) -> str:
        """How the process ended, in words; it is stopped where it did not end."""
        process = self._process
        if process is not None:
            # Killing a process that has just ended would take its exit code from whoever waits for it.
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(process.wait(), END_SECONDS)
        await self.stop()
        if process is None or process.returncode is None:
            return ""
        if process.returncode < 0:
            return f"signal {signal.Signals(-process.returncode).name}"
        return f"exit code {process.returncode}"

    async def stop(self) -> None:
        """End the process, if there is one, and wait for its end."""
        process, self._process = self._process, None
        if process is None:
            self._forget_mark_file()
            return
        if process.stdin is not None:
            process.stdin.close()
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        # A process that a function has left behind may hold the streams open: then nobody waits for it.
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(process.wait(), END_SECONDS)
        self._forget_mark_file()

    def marked(self, *, unseen: bool) -> tuple[str, int] | None:
        """The template file and line that the process has marked."""
        return None if self._mark_file is None else marked_place(self._mark_file, unseen=unseen)

    async def _receive(
        self, process: asyncio.subprocess.Process, deadline: float, place: tuple[str, int] | None
    ) -> dict[str, Any]:
        """The next message; raises LateError after `deadline`, with the process stopped, or EOFError."""
        assert process.stdout is not None
        try:
            return await asyncio.wait_for(
                _read_message(process.stdout), max(0.0, deadline - time.monotonic())
            )
        except (asyncio.TimeoutError, asyncio.CancelledError) as error:
            place = self.marked(unseen=True) or place or self.marked(unseen=False)
            # A message that was read half would make nonsense of the next: a new process begins anew.
            await self.stop()
            if isinstance(error, asyncio.CancelledError):
                raise
            raise LateError(place) from None

    def _new_mark_file(self) -> Path:
        """The file for the marks of a process that is started now."""
        self._forget_mark_file()
        descriptor, name = tempfile.mkstemp(prefix="promptls-mark-")
        os.close(descriptor)
        self._mark_file = Path(name)
        new_mark_file(self._mark_file)
        return self._mark_file

    def _forget_mark_file(self) -> None:
        file, self._mark_file = self._mark_file, None
        if file is not None:
            with contextlib.suppress(OSError):
                file.unlink()


async def _read_message(stream: asyncio.StreamReader) -> dict[str, Any]:
    """The next message of `stream`; raises EOFError where the process is gone."""
    try:
        header = await stream.readexactly(frames.HEADER_BYTES)
        message: dict[str, Any] = frames.decode(await stream.readexactly(frames.body_length(header)))
    except asyncio.IncompleteReadError as error:
        raise EOFError("the process closed its output") from error
    return message
