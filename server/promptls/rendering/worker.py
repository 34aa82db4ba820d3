"""The server's side of the worker: one process that renders and counts, one job at a time.

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
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from promptls.rendering import frames
from promptls.rendering.job import RenderJob
from promptls.rendering.limits import Limits
from promptls.rendering.mark import marked_place, new_mark_file
from promptls.rendering.outcome import RenderFailure, Rendering
from promptls.rendering.outcome_frame import unpacked_outcome
from promptls.rendering.rows import RowsRendered, unpacked_rows
from promptls.rendering.values import pack

if TYPE_CHECKING:
    from promptls.rendering.lab_request import LabRequest
    from promptls.truncation.report import LabJson

Answer = TypeVar("Answer")

Tell: TypeAlias = Callable[[str, int, int], None]
"""Hears of a long job what is being done, how much of it is done, and of how much."""

IMPORT_FOLDER = Path(__file__).resolve().parents[2]
"""The folder that the package `promptls` is imported from."""

ATTEMPTS = 2
"""How often a job is tried whose process ended under it."""

SUPERSEDED_SECONDS = 0.3
"""Seconds that a running job has to end once a newer one takes its place; then its process is ended."""

END_SECONDS = 1.0
"""Seconds that a process which has closed its output has to end by itself."""


class CountingError(RuntimeError):
    """Tokens cannot be counted: an unknown encoding, or a process that does not answer."""


class SupersededError(Exception):
    """A newer rendering of the same file was asked for before this one was done."""


class _LateError(Exception):
    """No answer came in time; `place` is the template file and line that the job was last seen at."""

    def __init__(self, place: tuple[str, int] | None) -> None:
        super().__init__()
        self.place = place


class RenderWorker:
    """A process for rendering and counting, started by the first job and again after one that killed it.

    Use it from one event loop. Jobs run one after another. A caller that is cancelled does not stop
    its job, which ends by itself or at the time limit.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        """Hold every job to `limits`; no process is started yet."""
        self.limits = limits or Limits()
        self._process: asyncio.subprocess.Process | None = None
        self._lock = asyncio.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._requests = 0
        self._newest: dict[str, int] = {}
        """Of each file the number of its newest rendering that may be superseded."""
        self._coming: dict[str, tuple[RenderJob, asyncio.Task[Rendering | RenderFailure]]] = {}
        self._numbers = 0
        self._at_work: tuple[str, int | None] | None = None
        self._mark_file: Path | None = None
        """Where the process marks its place."""
        self._loaded: set[str] = set()
        """The encodings that the process has ready, so that a job runs from the moment it is sent."""

    async def render(self, job: RenderJob) -> Rendering | RenderFailure:
        """The outcome of `job`. Never raises for what is wrong with the job."""
        try:
            packed = job.to_json()
        except (TypeError, ValueError) as error:
            return RenderFailure("data", f"The template data cannot be used: {error}", job.path)
        return await self._finish(self._render(job, packed))

    async def render_rows(self, job: RenderJob, rows: Sequence[Mapping[str, Any]]) -> RowsRendered | None:
        """What `job` makes of each row in place of its data, in one message.

        The time limit holds for all of them together. None where they do not come to an end, or not all of
        them can be sent: rendered one by one, each row says what is wrong with it.
        """
        try:
            request = {"job": job.to_json(), "rows": [pack(row) for row in rows]}
        except (TypeError, ValueError):
            return None
        answer = await self._finish(self._run(job, {**request, "seconds": self.limits.seconds}))
        return None if isinstance(answer, RenderFailure) else unpacked_rows(answer)

    async def render_newest(self, job: RenderJob) -> Rendering | RenderFailure:
        """As `render`; but of a file, only the newest job that is asked for like this is worked on.

        One that waits or runs when another one comes raises SupersededError; one that is equal to it is
        waited for.
        """
        coming = self._coming.get(job.path)
        if coming is not None and coming[0] == job and not coming[1].done():
            return await asyncio.shield(coming[1])
        former = self._newest.get(job.path)
        self._numbers += 1
        self._newest[job.path] = self._numbers
        if former is not None and self._at_work == (job.path, former):
            asyncio.get_running_loop().call_later(SUPERSEDED_SECONDS, self._end_superseded, job.path, former)
        task = asyncio.ensure_future(self.render_unless_superseded(job))
        self._coming[job.path] = job, task
        task.add_done_callback(lambda _done: self._came(job.path, task))
        return await asyncio.shield(task)

    async def render_unless_superseded(self, job: RenderJob) -> Rendering | RenderFailure:
        """As `render`; raises SupersededError where `render_newest` is asked for the file meanwhile."""
        try:
            packed = job.to_json()
        except (TypeError, ValueError) as error:
            return RenderFailure("data", f"The template data cannot be used: {error}", job.path)
        number = self._newest.setdefault(job.path, 0)
        return await self._finish(self._render(job, packed, number))

    def give_up(self, path: str) -> None:
        """Jobs of the file that wait or run and may be superseded raise SupersededError: none is wanted."""
        former = self._newest.get(path)
        if former is not None:
            self._numbers += 1
            self._newest[path] = self._numbers
            self._end_superseded(path, former)

    async def settled(self, path: str) -> None:
        """Wait for the newest job of the file, where one is on its way."""
        coming = self._coming.get(path)
        if coming is not None:
            await asyncio.wait([coming[1]])

    def _came(self, path: str, task: asyncio.Task[Rendering | RenderFailure]) -> None:
        """Forget a task that is done; where nobody waits for it any more, its failure is nobody's concern."""
        if (coming := self._coming.get(path)) is not None and coming[1] is task:
            del self._coming[path]
        if not task.cancelled():
            task.exception()

    async def count(self, texts: Sequence[str], encoding: str) -> list[int]:
        """The tokens of each text in `encoding`, special tokens counted as text; raises CountingError."""
        if not texts:
            return []
        return await self._finish(self._count(list(texts), encoding))

    async def cut(self, texts: Sequence[str], encoding: str) -> list[dict[str, list[int]]]:
        """The tokens of each text: their `ids` and `starts`, as `tokens.pieces`; raises CountingError."""
        if not texts:
            return []
        answer = await self._finish(self._ask({"texts": list(texts), "encoding": encoding, "cut": True}))
        pieces: list[dict[str, list[int]]] = answer["pieces"]
        return pieces

    async def explore(self, request: LabRequest, tell: Tell | None = None) -> LabJson | RenderFailure:
        """What the truncation lab finds; `tell` hears how far it is. The time limit holds for one turn."""
        try:
            packed = request.to_json()
        except (TypeError, ValueError) as error:
            return RenderFailure("data", f"The template data cannot be used: {error}", request.job.path)
        message = {"lab": packed, "seconds": self.limits.seconds}
        answer = await self._finish(self._run(request.job, message, tell))
        if isinstance(answer, RenderFailure):
            return answer
        found: LabJson = answer["found"]
        return found

    async def start(self) -> None:
        """Start the process now, so that the first job need not wait for it."""
        await self._finish(self._start())

    async def close(self) -> None:
        """End the process; a job that is running is given up."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._stop()

    async def _finish(self, work: Coroutine[Any, Any, Answer]) -> Answer:
        """The result of `work`, which goes on when the caller is cancelled."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

    async def _start(self) -> None:
        async with self._lock:
            with contextlib.suppress(EOFError, OSError, _LateError):
                await self._running()

    def _end_superseded(self, path: str, number: int) -> None:
        """End the process if it still runs the job of this number, whose outcome nobody waits for."""
        if (path, number) == self._at_work and self._newest.get(path) != number and self._process:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()

    async def _render(
        self, job: RenderJob, packed: dict[str, Any], number: int | None = None
    ) -> Rendering | RenderFailure:
        answer = await self._run(job, {"job": packed, "seconds": self.limits.seconds}, number=number)
        if isinstance(answer, RenderFailure):
            return answer
        outcome = unpacked_outcome(answer["outcome"])
        assert isinstance(outcome, Rendering)
        return outcome

    async def _run(
        self, job: RenderJob, request: dict[str, Any], tell: Tell | None = None, number: int | None = None
    ) -> dict[str, Any] | RenderFailure:
        """The answer to a request that runs a template, or why there is none.

        Raises SupersededError where the job has a `number`, and is no longer the newest of its file.
        """
        async with self._lock:
            ended = ""
            place: tuple[str, int] | None = None
            for _ in range(ATTEMPTS):
                self._at_work = job.path, number
                try:
                    await self._running()
                    # While the process starts, there is none that could be ended for a newer job.
                    if number is not None and self._newest.get(job.path) != number:
                        raise SupersededError
                    answer = await self._exchange(request, tell, job.encoding)
                except _LateError as error:
                    return self._timed_out(job, error.place)
                except (EOFError, OSError) as error:
                    place = self._marked(unseen=False)
                    ended = await self._end_of_process() or str(error)
                    continue
                finally:
                    self._at_work = None
                outcome = answer.get("outcome")
                if outcome is None or "failure" not in outcome:
                    return answer
                failure = RenderFailure.from_json(outcome)
                if failure.kind == "memory":
                    # What filled the memory may still be held by something in the process.
                    await self._stop()
                    return replace(failure, message=self._out_of_memory(), path=failure.path or job.path)
                return failure
        path, line = place or (job.path, None)
        where = f", at line {line + 1} of {Path(path).name}" if line is not None else ""
        message = (
            f"The rendering process ended {ATTEMPTS} times while it rendered this file{where} ({ended})."
        )
        if job.functions is not None:
            message += f" Look at what ends a process in the functions of {job.functions}."
        return RenderFailure("crash", message, path, line)

    async def _count(self, texts: list[str], encoding: str) -> list[int]:
        counts: list[int] = (await self._ask({"texts": texts, "encoding": encoding}))["counts"]
        return counts

    async def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer to a question about texts; raises CountingError."""
        async with self._lock:
            for _ in range(ATTEMPTS):
                try:
                    answer = await self._exchange(request)
                except _LateError:
                    seconds = self.limits.start_seconds
                    raise CountingError(f"Counting tokens took longer than {seconds:g} seconds.") from None
                except (EOFError, OSError):
                    await self._stop()
                    continue
                if "error" in answer:
                    raise CountingError(answer["error"])
                return answer
        raise CountingError("The process that counts tokens cannot be started, or ends at once.")

    async def _exchange(
        self, request: dict[str, Any], tell: Tell | None = None, encoding: str | None = None
    ) -> dict[str, Any]:
        """The answer to `request`; raises _LateError, EOFError or OSError, and then the process is gone.

        Of a job, `encoding` is the one that it counts with: its time begins when that is loaded.
        """
        process = await self._running()
        assert process.stdin is not None
        self._requests += 1
        number = self._requests
        is_ready = encoding in self._loaded
        message = {"id": number, **request, "tells_start": encoding is not None and not is_ready}
        process.stdin.write(frames.encode(message))
        await process.stdin.drain()
        seconds = self.limits.seconds if is_ready else self.limits.start_seconds
        deadline = time.monotonic() + seconds
        place: tuple[str, int] | None = None
        while True:
            message = await self._receive(process, deadline, place)
            if message.get("id") != number:
                continue
            if "started" in message:
                self._loaded.add(message["started"])
                deadline = time.monotonic() + self.limits.seconds
            elif "progress" in message:
                deadline = time.monotonic() + self.limits.seconds
                if tell is not None:
                    tell(*message["progress"])
            elif "at" in message:
                path, line = message["at"]
                place = (path, line)
            else:
                return message

    async def _receive(
        self, process: asyncio.subprocess.Process, deadline: float, place: tuple[str, int] | None
    ) -> dict[str, Any]:
        """The next message; raises _LateError after `deadline`, with the process stopped, or EOFError."""
        assert process.stdout is not None
        try:
            return await asyncio.wait_for(
                _read_message(process.stdout), max(0.0, deadline - time.monotonic())
            )
        except (asyncio.TimeoutError, asyncio.CancelledError) as error:
            place = self._marked(unseen=True) or place or self._marked(unseen=False)
            # A message that was read half would make nonsense of the next: a new process begins anew.
            await self._stop()
            if isinstance(error, asyncio.CancelledError):
                raise
            raise _LateError(place) from None

    async def _running(self) -> asyncio.subprocess.Process:
        """The process, started and ready; raises _LateError, EOFError or OSError where it does not start."""
        if self._process is not None and self._process.returncode is None:
            return self._process
        await self._stop()
        self._loaded.clear()
        memory = self.limits.memory_bytes
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
        await self._receive(self._process, time.monotonic() + self.limits.start_seconds, None)
        return self._process

    async def _end_of_process(self) -> str:
        """How the process ended, in words; it is stopped where it did not end."""
        process = self._process
        if process is not None:
            # Killing a process that has just ended would take its exit code from whoever waits for it.
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(process.wait(), END_SECONDS)
        await self._stop()
        if process is None or process.returncode is None:
            return ""
        if process.returncode < 0:
            return f"signal {signal.Signals(-process.returncode).name}"
        return f"exit code {process.returncode}"

    async def _stop(self) -> None:
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

    def _marked(self, *, unseen: bool) -> tuple[str, int] | None:
        """The template file and line that the process has marked."""
        return None if self._mark_file is None else marked_place(self._mark_file, unseen=unseen)

    def _timed_out(self, job: RenderJob, place: tuple[str, int] | None) -> RenderFailure:
        """The failure for a job that was stopped at the time limit."""
        path, line = place or (job.path, None)
        where = f", at line {line + 1} of {Path(path).name}" if line is not None else ""
        message = (
            f"Rendering did not end within its limit of {self.limits.seconds:g} seconds and was stopped"
            f"{where}: look for a loop or a function that takes long."
        )
        return RenderFailure("timeout", message, path, line)

    def _out_of_memory(self) -> str:
        """The message for a job that met the memory limit."""
        memory = self.limits.memory_bytes
        limit = "" if memory is None else f" its limit of {memory / (1 << 20):.0f} MiB of"
        return f"Rendering needs more than{limit} memory: look for a loop or a value that grows."


async def _read_message(stream: asyncio.StreamReader) -> dict[str, Any]:
    """The next message of `stream`; raises EOFError where the process is gone."""
    try:
        header = await stream.readexactly(frames.HEADER_BYTES)
        message: dict[str, Any] = frames.decode(await stream.readexactly(frames.body_length(header)))
    except asyncio.IncompleteReadError as error:
        raise EOFError("the process closed its output") from error
    return message
