"""The server side of the rendering worker: starting, querying, limiting, watching and ending the process."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from promptls.rendering.job import (
    HEADER_BYTES,
    PARTS_PER_MESSAGE,
    TIMES_BUSY,
    RenderJob,
    RowsRendered,
    body_length,
    decode_frame,
    encode_frame,
    pack,
    unpacked_rows,
)
from promptls.rendering.mark import MarkFile
from promptls.rendering.outcome import RenderFailure, Rendering, unpacked_outcome
from promptls.security.files import note_file_reads
from promptls.security.processes import IMPORT_FOLDER, minimal_environment
from promptls.text.format import plural

if TYPE_CHECKING:
    from typing_extensions import Self

    from promptls.rendering.job import LabRequest
    from promptls.truncation.lab_report import LabJson

MAX_SECONDS_UNTRUSTED: Final = 5.0
"""The maximum `timeout` in untrusted folders; also the default of the setting."""
MAX_MEGABYTES_UNTRUSTED: Final = 1024
"""The maximum `memory` in untrusted folders; also the default of the setting."""
_SHARE_OF_MEMORY: Final = 0.5


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a worker. They apply to each job, not to a session."""

    seconds: float = MAX_SECONDS_UNTRUSTED
    """How long a job may run, after its encoding is loaded. Waiting for a busy processor does not count."""
    memory_bytes: int | None = MAX_MEGABYTES_UNTRUSTED << 20
    """How much memory the worker process may use; None for no limit."""
    start_seconds: float = 60.0
    """How long the process may take to start, to load an encoding, or to count plain texts."""


def limits_of(seconds: float, megabytes: int, *, trusted: bool) -> Limits:
    """Return the limits from settings.

    An untrusted folder can only lower the defaults. No folder gets more than half of the machine's memory.
    """
    if not trusted:
        seconds, megabytes = min(seconds, MAX_SECONDS_UNTRUSTED), min(megabytes, MAX_MEGABYTES_UNTRUSTED)
    physical = physical_memory()
    requested = megabytes << 20
    return Limits(
        seconds, requested if physical is None else min(requested, int(physical * _SHARE_OF_MEMORY))
    )


def physical_memory() -> int | None:
    """Return the machine's memory in bytes; None if unknown."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # Windows has no `sysconf`, other systems lack some names
        return None


Notify: TypeAlias = Callable[[str, int, int], None]
"""A progress callback of a long job: the current activity, the amount done, and the total."""

END_SECONDS = 1.0
"""The time for a process to exit after it has closed its output."""

_LEAST_SECONDS: Final = 0.05
"""The shortest wait for a process that gets too little of the processor."""
_LAST_SECONDS: Final = 0.1
"""How long an answer may take to be read after the time is over."""


class RenderTimeoutError(Exception):
    """No response arrived in time; `place` is the last known template file and line of the job."""

    def __init__(self, place: tuple[str, int] | None) -> None:
        super().__init__()
        self.place = place


class _TimeLimit:
    """The time for one step of a process, which waiting for a busy processor prolongs."""

    def __init__(self, pid: int, seconds: float) -> None:
        """Start the time now."""
        self._pid = pid
        self._seconds = seconds
        self._began = time.monotonic()
        self._computed = _processor_time(pid)[1]

    def left(self) -> float:
        """Return the remaining seconds; 0 when the time is over."""
        elapsed = time.monotonic() - self._began
        if elapsed < self._seconds:
            return self._seconds - elapsed
        can_run, computed = _processor_time(self._pid)
        missing = self._seconds - (computed - self._computed)
        return max(0.0, min(missing, TIMES_BUSY * self._seconds - elapsed)) if can_run else 0.0


def _processor_time(pid: int) -> tuple[bool, float]:
    """Return whether a process is running, ready to run or waiting for a disk, and its CPU time in seconds.

    Only Linux has this information; elsewhere, return False and 0.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    except (OSError, ValueError):
        return False, 0.0
    return fields[0] in {"R", "D"}, (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class RenderProcess:
    """At most one process at a time, started by the first message, and restarted after it has ended.

    The caller must send one message at a time.
    """

    def __init__(self, limits: Limits) -> None:
        """Set the memory limit of processes and the time limit of messages; no process is started yet."""
        self._limits = limits
        self._process: asyncio.subprocess.Process | None = None
        self._requests = 0
        self._mark: MarkFile | None = None
        """The file where the process marks its position."""
        self._loaded: set[str] = set()
        """The encodings that the process has loaded, so that the time of a job starts when it is sent."""

    @property
    def pid(self) -> int | None:
        """The id of the process; None if it is not running."""
        return None if self._process is None else self._process.pid

    async def running(self) -> asyncio.subprocess.Process:
        """Return the process, started and ready.

        Raises RenderTimeoutError, EOFError or OSError if it does not start.
        """
        if self._process is not None and self._process.returncode is None:
            return self._process
        await self.stop()
        self._loaded.clear()
        memory = self._limits.memory_bytes
        mark = self._mark = MarkFile()
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "promptls.rendering.process",
            "none" if memory is None else str(memory),
            mark.argument,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=IMPORT_FOLDER,
            env=minimal_environment(),
            # Without this flag, a console window opens on Windows.
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            pass_fds=mark.inherited,
        )
        limit = _TimeLimit(self._process.pid, self._limits.start_seconds)
        await self._receive(self._process, limit, None)
        return self._process

    async def exchange(
        self, request: dict[str, Any], notify: Notify | None = None, encoding: str | None = None
    ) -> dict[str, Any]:
        """Return the response to `request`; the parts of a rendering arrive in messages of their own.

        Raises RenderTimeoutError, EOFError or OSError, after which the process has ended.

        `encoding` is the one that a job counts with; its time starts once that is loaded.
        """
        process = await self.running()
        assert process.stdin is not None
        self._requests += 1
        request_id = self._requests
        is_ready = encoding in self._loaded
        message = {"id": request_id, **request, "tells_start": encoding is not None and not is_ready}
        process.stdin.write(encode_frame(message))
        await process.stdin.drain()
        seconds = self._limits.seconds if is_ready else self._limits.start_seconds
        limit = _TimeLimit(process.pid, seconds)
        place: tuple[str, int] | None = None
        parts: list[Any] = []
        while True:
            message = await self._receive(process, limit, place)
            if message.get("id") != request_id:
                continue
            if "started" in message:
                self._loaded.add(message["started"])
                limit = _TimeLimit(process.pid, self._limits.seconds)
            elif "progress" in message:
                limit = _TimeLimit(process.pid, self._limits.seconds)
                if notify is not None:
                    notify(*message["progress"])
            elif "at" in message:
                path, line = message["at"]
                place = (path, line)
            elif "parts" in message:
                parts += message["parts"]
                await asyncio.sleep(0)  # the next message may have arrived: other tasks come first
            else:
                if parts:
                    message["outcome"]["parts"] = parts
                note_file_reads(message["reads"])
                return message

    def kill(self) -> None:
        """Kill the process without waiting for it; a pending `exchange` fails."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()

    async def end(self) -> str:
        """Return a description of how the process ended; stop it if it has not."""
        process = self._process
        if process is not None:
            # Killing a process that has just exited would lose its exit code.
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(process.wait(), END_SECONDS)
        await self.stop()
        if process is None or process.returncode is None:
            return ""
        if process.returncode < 0:
            return f"signal {signal.Signals(-process.returncode).name}"
        return f"exit code {process.returncode}"

    async def stop(self) -> None:
        """End the process, if it exists, and wait until it ends."""
        process, self._process = self._process, None
        if process is None:
            self._forget_mark()
            return
        if process.stdin is not None:
            process.stdin.close()
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        # A process left behind by a function may keep the streams open, so the wait has a time limit.
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(process.wait(), END_SECONDS)
        self._forget_mark()

    def marked(self, *, unseen: bool) -> tuple[str, int] | None:
        """Return the template file and line marked by the process."""
        return None if self._mark is None else self._mark.place(unseen=unseen)

    async def _receive(
        self, process: asyncio.subprocess.Process, limit: _TimeLimit, place: tuple[str, int] | None
    ) -> dict[str, Any]:
        """Return the next message.

        Raises RenderTimeoutError when the time is over and the process is stopped, or EOFError.
        """
        assert process.stdout is not None
        reading = asyncio.ensure_future(_read_message(process.stdout))
        try:
            while not reading.done() and (left := limit.left()) > 0:
                await asyncio.wait([reading], timeout=max(left, _LEAST_SECONDS))
            if not reading.done():
                # The answer may have arrived while this process was too busy to read it.
                await asyncio.wait([reading], timeout=_LAST_SECONDS)
            if reading.done():
                return reading.result()
            place = self.marked(unseen=True) or place or self.marked(unseen=False)
        finally:
            if not reading.done():
                reading.cancel()
                # After a partially read message, the stream is unusable, so a new process is needed.
                await self.stop()
            elif not reading.cancelled():
                reading.exception()  # asyncio logs one that a cancelled caller has not looked at
        raise RenderTimeoutError(place)

    def _forget_mark(self) -> None:
        mark, self._mark = self._mark, None
        if mark is not None:
            mark.close()


async def _read_message(stream: asyncio.StreamReader) -> dict[str, Any]:
    """Return the next message of `stream`; raises EOFError if the process has ended."""
    try:
        header = await stream.readexactly(HEADER_BYTES)
        message: dict[str, Any] = decode_frame(await stream.readexactly(body_length(header)))
    except asyncio.IncompleteReadError as error:
        raise EOFError("the process closed its output") from error
    return message


Answer = TypeVar("Answer")

ATTEMPTS = 2
"""The number of attempts for a job whose process crashes."""

SUPERSEDED_SECONDS = 0.3
"""The time for a superseded job to finish before its process is killed."""


class CountingError(RuntimeError):
    """Tokens cannot be counted: an unknown encoding, or a process that does not answer."""


class SupersededError(Exception):
    """A newer rendering of the same file was requested before this one was done."""


class RenderWorker:
    """A process for rendering and counting, started by the first job, and restarted after a crash.

    Use it from one event loop. Jobs run one after another. Cancelling a caller does not stop
    its job, which runs to its end or to the time limit.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        """Apply `limits` to every job; no process is started yet."""
        self.limits = limits or Limits()
        self._process: Final = RenderProcess(self.limits)
        self._lock = asyncio.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._latest: dict[str, int] = {}
        """For each file, the id of its latest rendering that may be superseded."""
        self._coming: dict[str, tuple[RenderJob, asyncio.Task[Rendering | RenderFailure]]] = {}
        self._version = 0
        self._at_work: tuple[str, int | None] | None = None

    async def render(self, job: RenderJob) -> Rendering | RenderFailure:
        """Return the outcome of `job`. Errors in the job are returned, not raised."""
        return await self._rendered(job)

    async def render_rows(self, job: RenderJob, rows: Sequence[Mapping[str, Any]]) -> RowsRendered | None:
        """Render `job` with each row in place of its data, in one message.

        The time limit applies to all rows together. Return None if they do not finish, or not all of them can
        be sent; render them individually then, to get the failure of each row.
        """
        try:
            request = {"job": job.to_json(), "rows": [pack(row) for row in rows]}
        except (TypeError, ValueError):
            return None
        answer = await self._finish(self._run(job, {**request, "seconds": self.limits.seconds}))
        return None if isinstance(answer, RenderFailure) else unpacked_rows(answer)

    async def render_latest(self, job: RenderJob) -> Rendering | RenderFailure:
        """Render like `render`, but process only the latest job of each file requested by this method.

        An earlier pending or running job raises SupersededError; an equal one is
        waited for.
        """
        coming = self._coming.get(job.path)
        if coming is not None and coming[0] == job and not coming[1].done():
            return await asyncio.shield(coming[1])
        former = self._latest.get(job.path)
        self._version += 1
        self._latest[job.path] = self._version
        if former is not None and self._at_work == (job.path, former):
            asyncio.get_running_loop().call_later(SUPERSEDED_SECONDS, self._end_superseded, job.path, former)
        task = asyncio.ensure_future(self.render_unless_superseded(job))
        self._coming[job.path] = job, task
        task.add_done_callback(lambda _done: self._came(job.path, task))
        return await asyncio.shield(task)

    async def render_unless_superseded(self, job: RenderJob) -> Rendering | RenderFailure:
        """Render like `render`; raises SupersededError if `render_latest` is called for the file."""
        return await self._rendered(job, self._latest.setdefault(job.path, 0))

    async def _rendered(self, job: RenderJob, version: int | None = None) -> Rendering | RenderFailure:
        try:
            packed = job.to_json()
        except (TypeError, ValueError) as error:
            return RenderFailure("data", f"The template data cannot be used: {error}", job.path)
        return await self._finish(self._render(job, packed, version))

    def give_up(self, path: str) -> None:
        """Make pending and running jobs of the file that may be superseded raise SupersededError."""
        former = self._latest.get(path)
        if former is not None:
            self._version += 1
            self._latest[path] = self._version
            self._end_superseded(path, former)

    async def wait_for_latest(self, path: str) -> None:
        """Wait for the latest job of the file, if one is pending or running."""
        coming = self._coming.get(path)
        if coming is not None:
            await asyncio.wait([coming[1]])

    def _came(self, path: str, task: asyncio.Task[Rendering | RenderFailure]) -> None:
        """Forget a task that is done, and mark its exception as retrieved."""
        if (coming := self._coming.get(path)) is not None and coming[1] is task:
            del self._coming[path]
        if not task.cancelled():
            task.exception()

    async def count(self, texts: Sequence[str], encoding: str) -> list[int]:
        """Return the token count of each text in `encoding`; special tokens are counted as text.

        Raises CountingError.
        """
        if not texts:
            return []
        return await self._finish(self._count(list(texts), encoding))

    async def cut(self, texts: Sequence[str], encoding: str) -> list[dict[str, list[int]]]:
        """Return the tokens of each text: their `ids` and `starts`, like `tokens.pieces`.

        Raises CountingError.
        """
        if not texts:
            return []
        answer = await self._finish(self._ask({"texts": list(texts), "encoding": encoding, "cut": True}))
        pieces: list[dict[str, list[int]]] = answer["pieces"]
        return pieces

    async def explore(self, request: LabRequest, notify: Notify | None = None) -> LabJson | RenderFailure:
        """Return the result of the truncation lab; `notify` is called with its progress.

        The time limit applies to each turn.
        """
        try:
            packed = request.to_json()
        except (TypeError, ValueError) as error:
            return RenderFailure("data", f"The template data cannot be used: {error}", request.job.path)
        message = {"lab": packed, "seconds": self.limits.seconds}
        answer = await self._finish(self._run(request.job, message, notify))
        if isinstance(answer, RenderFailure):
            return answer
        found: LabJson = answer["found"]
        return found

    async def start(self) -> None:
        """Start the process now, so that the first job does not wait for it."""
        await self._finish(self._start())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End the process; a running job is abandoned."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._process.stop()

    async def _finish(self, work: Coroutine[Any, Any, Answer]) -> Answer:
        """Return the result of `work`, which continues if the caller is cancelled."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

    async def _start(self) -> None:
        async with self._lock:
            with contextlib.suppress(EOFError, OSError, RenderTimeoutError):
                await self._process.running()

    def _end_superseded(self, path: str, version: int) -> None:
        """End the process if it still runs the superseded job with this id."""
        if (path, version) == self._at_work and self._latest.get(path) != version:
            self._process.kill()

    async def _render(
        self, job: RenderJob, packed: dict[str, Any], version: int | None = None
    ) -> Rendering | RenderFailure:
        answer = await self._run(job, {"job": packed, "seconds": self.limits.seconds}, version=version)
        if isinstance(answer, RenderFailure):
            return answer
        packed_outcome = answer["outcome"]
        if len(packed_outcome.get("parts", ())) > PARTS_PER_MESSAGE:
            outcome = await asyncio.to_thread(unpacked_outcome, packed_outcome)
        else:
            outcome = unpacked_outcome(packed_outcome)
        assert isinstance(outcome, Rendering)
        return outcome

    async def _run(
        self,
        job: RenderJob,
        request: dict[str, Any],
        notify: Notify | None = None,
        version: int | None = None,
    ) -> dict[str, Any] | RenderFailure:
        """Return the response to a request that runs a template, or the failure.

        Raises SupersededError if the job has a `version`, and is no longer the latest of its file.
        """
        async with self._lock:
            ended = ""
            place: tuple[str, int] | None = None
            for _ in range(ATTEMPTS):
                self._at_work = job.path, version
                try:
                    await self._process.running()
                    # A job may be superseded while the process starts, when it cannot be killed.
                    if version is not None and self._latest.get(job.path) != version:
                        raise SupersededError
                    answer = await self._process.exchange(request, notify, job.encoding)
                except RenderTimeoutError as error:
                    return self._timed_out(job, error.place)
                except (EOFError, OSError) as error:
                    place = self._process.marked(unseen=False)
                    ended = await self._process.end() or str(error)
                    continue
                finally:
                    self._at_work = None
                outcome = answer.get("outcome")
                if outcome is None or "failure" not in outcome:
                    return answer
                failure = RenderFailure.from_json(outcome)
                if failure.kind == "memory":
                    # Objects in the process may still occupy the memory.
                    await self._process.stop()
                    failure = replace(failure, message=self._out_of_memory())
                return replace(failure, path=failure.path or job.path)
        path, line = place or (job.path, None)
        message = f"The rendering process ended {ATTEMPTS} times while it rendered this file"
        message += f"{_at(path, line)} ({ended})."
        if job.functions is not None:
            message += f" Look at what ends a process in the functions of {job.functions}."
        return RenderFailure("crash", message, path, line)

    async def _count(self, texts: list[str], encoding: str) -> list[int]:
        counts: list[int] = (await self._ask({"texts": texts, "encoding": encoding}))["counts"]
        return counts

    async def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the response to a request about texts; raises CountingError."""
        async with self._lock:
            for _ in range(ATTEMPTS):
                try:
                    answer = await self._process.exchange(request)
                except RenderTimeoutError:
                    seconds = self.limits.start_seconds
                    raise CountingError(
                        f"Counting tokens took longer than {plural(seconds, 'second')}."
                    ) from None
                except (EOFError, OSError):
                    await self._process.stop()
                    continue
                if "error" in answer:
                    raise CountingError(answer["error"])
                return answer
        raise CountingError("The process that counts tokens cannot be started, or ends at once.")

    def _timed_out(self, job: RenderJob, place: tuple[str, int] | None) -> RenderFailure:
        """Return the failure for a job that was stopped at the time limit."""
        path, line = place or (job.path, None)
        limit = plural(self.limits.seconds, "second")
        message = (
            f"Rendering did not end within its limit of {limit} and was stopped"
            f"{_at(path, line)}: look for a loop or a function that takes long."
        )
        return RenderFailure("timeout", message, path, line)

    def _out_of_memory(self) -> str:
        """Return the message for a job that reached the memory limit."""
        memory = self.limits.memory_bytes
        limit = "" if memory is None else f" its limit of {memory / (1 << 20):.0f} MiB of"
        return f"Rendering needs more than{limit} memory: look for a loop or a value that grows."


class RenderWorkers:
    """One worker per set of limits."""

    def __init__(self) -> None:
        self._by_limits: Final[dict[Limits, RenderWorker]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def within(self, limits: Limits) -> RenderWorker:
        """Return the worker with these limits."""
        if limits not in self._by_limits:
            self._by_limits[limits] = RenderWorker(limits)
        return self._by_limits[limits]

    async def close(self) -> None:
        """End the processes."""
        for worker in self._by_limits.values():
            await worker.close()


def _at(path: str, line: int | None) -> str:
    return f", at line {line + 1} of {Path(path).name}" if line is not None else ""


def render_once(job: RenderJob, limits: Limits | None = None) -> Rendering | RenderFailure:
    """Return the outcome of one job, in a process of its own.

    Raises RuntimeError if an event loop is already running; use RenderWorker there.
    """

    async def run() -> Rendering | RenderFailure:
        async with RenderWorker(limits) as worker:
            return await worker.render(job)

    return asyncio.run(run())
