"""The server's side of the rendering worker: start, ask, limit, watch and end the process."""

from __future__ import annotations

import asyncio
import contextlib
import mmap
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from promptls.rendering import frames
from promptls.rendering.job import RenderJob, RowsRendered, pack, unpacked_rows
from promptls.rendering.outcome import RenderFailure, Rendering, unpacked_outcome
from promptls.security.environment import minimal_environment
from promptls.text.format import plural

if TYPE_CHECKING:
    from promptls.rendering.job import LabRequest
    from promptls.truncation.report import LabJson

_CELLS: Final = struct.Struct("=QQ")
_SIZE: Final = 64 * 1024
"""Bytes of the shared file: the cells, and behind them the paths of templates, each with its line break."""
_LINE_BITS: Final = 32


class Mark:
    """Where the templates of this process are: a number that names a file and a line of it."""

    def __init__(self) -> None:
        """Begin at no line, and tell nobody."""
        self.cells: list[int] | memoryview[int] = [0, 0]
        """The mark, and what it was when a thread could look at it last."""
        self._bases: dict[str, int] = {}
        self._map: mmap.mmap | None = None
        self._end = _CELLS.size

    def share(self, argument: str) -> None:
        """Write to the `MarkFile` of this argument, from now on."""
        file = int(argument) if argument.isdigit() else argument
        with open(file, "r+b") as stream:  # noqa: PTH123 - it may be a descriptor
            self._map = mmap.mmap(stream.fileno(), _SIZE)
        self.cells = memoryview(self._map)[: _CELLS.size].cast("Q")

    def clear(self) -> None:
        """Create a worker that does not run yet."""
        self.cells[0] = self.cells[1] = 0

    def look(self) -> None:
        """Mark that a thread could now inspect what runs: later marks are newer than what it saw."""
        self.cells[1] = self.cells[0]

    def base(self, path: str) -> int:
        """Return the mark of line 0 of the template at `path`."""
        base = self._bases.get(path)
        if base is None:
            base = self._bases[path] = (len(self._bases) + 1) << _LINE_BITS
            written = path.encode("utf-8", "surrogatepass") + b"\n"
            if self._map is not None and self._end + len(written) < _SIZE:
                self._map[self._end : self._end + len(written)] = written
                self._end += len(written)
        return base


MARK: Final = Mark()
"""The mark of this process."""


class MarkFile:
    """What a process shares its mark in: a file without a name, except on Windows.

    Nothing of it is left when its owner is killed.
    """

    def __init__(self) -> None:
        """Make the file; raises OSError."""
        self._name: Path | None = None
        if sys.platform == "win32":  # there, no other process could open a file without a name
            self._descriptor, name = tempfile.mkstemp(prefix="promptls-mark-")
            self._name = Path(name)
        else:
            with tempfile.TemporaryFile() as stream:
                self._descriptor = os.dup(stream.fileno())
        os.ftruncate(self._descriptor, _SIZE)

    @property
    def argument(self) -> str:
        """What tells a process which file it is: its name, or the number of an inherited descriptor."""
        return str(self._descriptor if self._name is None else self._name)

    @property
    def inherited(self) -> tuple[int, ...]:
        """The descriptors that the process has to inherit."""
        return (self._descriptor,) if self._name is None else ()

    def close(self) -> None:
        """Let go of the file, once its process has ended."""
        os.close(self._descriptor)
        if self._name is not None:
            with contextlib.suppress(OSError):
                self._name.unlink()

    def place(self, *, unseen: bool) -> tuple[str, int] | None:
        """Return the template file and 0-based line that the process was at; None if it does not say.

        With `unseen`, only what no thread of it has seen.
        """
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        content = os.read(self._descriptor, _SIZE)
        now, seen = _CELLS.unpack_from(content)
        paths = content[_CELLS.size :].split(b"\n")
        number = (now >> _LINE_BITS) - 1
        if not now or (unseen and now == seen) or not 0 <= number < len(paths) - 1:
            return None
        return paths[number].decode("utf-8", "surrogatepass"), now & ((1 << _LINE_BITS) - 1)


MAX_SECONDS_UNTRUSTED: Final = 5.0
"""What a folder that is not trusted may set `timeout` to; also the default of the setting."""
MAX_MEGABYTES_UNTRUSTED: Final = 1024
"""What a folder that is not trusted may set `memory` to; also the default of the setting."""
_SHARE_OF_MEMORY: Final = 0.5


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a worker. They hold for one job at a time, not for a session."""

    seconds: float = MAX_SECONDS_UNTRUSTED
    """How long a job may run, counted from where its encoding is loaded."""
    memory_bytes: int | None = MAX_MEGABYTES_UNTRUSTED << 20
    """How much memory the worker's process may have; None for no limit."""
    start_seconds: float = 60.0
    """How long the process may take to start, to load an encoding, or to count plain texts."""


def limits_of(seconds: float, megabytes: int, *, trusted: bool) -> Limits:
    """Return the limits that settings ask for.

    A folder that is not trusted can only lower the defaults. No folder gets more than half of the
    machine's memory.
    """
    if not trusted:
        seconds, megabytes = min(seconds, MAX_SECONDS_UNTRUSTED), min(megabytes, MAX_MEGABYTES_UNTRUSTED)
    physical = physical_memory()
    asked = megabytes << 20
    return Limits(seconds, asked if physical is None else min(asked, int(physical * _SHARE_OF_MEMORY)))


def physical_memory() -> int | None:
    """Return the bytes of memory that the machine has; None if the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # Windows has no `sysconf`, other systems not all names
        return None


def limit_memory(memory_bytes: int | None) -> None:
    """Bound the memory of this process, where the platform can; elsewhere, do nothing."""
    if memory_bytes is None or sys.platform == "win32":
        return
    import resource

    # On Linux RLIMIT_DATA counts what is really written to; RLIMIT_AS would count mapped files too.
    kind = resource.RLIMIT_DATA if sys.platform == "linux" else resource.RLIMIT_AS
    _, hard = resource.getrlimit(kind)
    soft = memory_bytes if hard == resource.RLIM_INFINITY else min(memory_bytes, hard)
    try:
        resource.setrlimit(kind, (soft, hard))
    except (OSError, ValueError):
        # macOS refuses limits below what a process has mapped: then only the time limit holds.
        return


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
        self._mark: MarkFile | None = None
        """Where the process marks its place."""
        self._loaded: set[str] = set()
        """The encodings that the process has ready, so that a job runs from the moment it is sent."""

    @property
    def pid(self) -> int | None:
        """The number of the process; None if there is none."""
        return None if self._process is None else self._process.pid

    async def running(self) -> asyncio.subprocess.Process:
        """Return the process, started and ready.

        Raises LateError, EOFError or OSError where it does not start.
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
            # `-m` puts the working folder first on the import path: in a user's folder, a file named
            # like a library would be run. Here only this package is found.
            cwd=IMPORT_FOLDER,
            env=minimal_environment(),
            # Without it, a console window opens on Windows.
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            pass_fds=mark.inherited,
        )
        await self._receive(self._process, time.monotonic() + self._limits.start_seconds, None)
        return self._process

    async def exchange(
        self, request: dict[str, Any], tell: Tell | None = None, encoding: str | None = None
    ) -> dict[str, Any]:
        """Return the answer to `request`.

        Raises LateError, EOFError or OSError, and then the process is gone.

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
        """Return how the process ended, in words; it is stopped where it did not end."""
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
            self._forget_mark()
            return
        if process.stdin is not None:
            process.stdin.close()
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        # A process that a function has left behind may hold the streams open: then nobody waits for it.
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(process.wait(), END_SECONDS)
        self._forget_mark()

    def marked(self, *, unseen: bool) -> tuple[str, int] | None:
        """Return the template file and line that the process has marked."""
        return None if self._mark is None else self._mark.place(unseen=unseen)

    async def _receive(
        self, process: asyncio.subprocess.Process, deadline: float, place: tuple[str, int] | None
    ) -> dict[str, Any]:
        """Return the next message.

        Raises LateError after `deadline`, with the process stopped, or EOFError.
        """
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

    def _forget_mark(self) -> None:
        mark, self._mark = self._mark, None
        if mark is not None:
            mark.close()


async def _read_message(stream: asyncio.StreamReader) -> dict[str, Any]:
    """Return the next message of `stream`; raises EOFError where the process is gone."""
    try:
        header = await stream.readexactly(frames.HEADER_BYTES)
        message: dict[str, Any] = frames.decode(await stream.readexactly(frames.body_length(header)))
    except asyncio.IncompleteReadError as error:
        raise EOFError("the process closed its output") from error
    return message


Answer = TypeVar("Answer")

ATTEMPTS = 2
"""How often a job is tried whose process ended under it."""

SUPERSEDED_SECONDS = 0.3
"""Seconds that a running job has to end once a newer one takes its place; then its process is ended."""


class CountingError(RuntimeError):
    """Tokens cannot be counted: an unknown encoding, or a process that does not answer."""


class SupersededError(Exception):
    """A newer rendering of the same file was asked for before this one was done."""


class RenderWorker:
    """A process for rendering and counting, started by the first job and again after one that killed it.

    Use it from one event loop. Jobs run one after another. A caller that is cancelled does not stop
    its job, which ends by itself or at the time limit.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        """Hold every job to `limits`; no process is started yet."""
        self.limits = limits or Limits()
        self._process: Final = RenderProcess(self.limits)
        self._lock = asyncio.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._newest: dict[str, int] = {}
        """Of each file the number of its newest rendering that may be superseded."""
        self._coming: dict[str, tuple[RenderJob, asyncio.Task[Rendering | RenderFailure]]] = {}
        self._numbers = 0
        self._at_work: tuple[str, int | None] | None = None

    async def render(self, job: RenderJob) -> Rendering | RenderFailure:
        """Return the outcome of `job`. Never raises for what is wrong with the job."""
        try:
            packed = job.to_json()
        except (TypeError, ValueError) as error:
            return RenderFailure("data", f"The template data cannot be used: {error}", job.path)
        return await self._finish(self._render(job, packed))

    async def render_rows(self, job: RenderJob, rows: Sequence[Mapping[str, Any]]) -> RowsRendered | None:
        """Return what `job` makes of each row in place of its data, in one message.

        The time limit holds for all of them together. None if they do not come to an end, or not all of
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
        """Return the tokens of each text in `encoding`, special tokens counted as text.

        Raises CountingError.
        """
        if not texts:
            return []
        return await self._finish(self._count(list(texts), encoding))

    async def cut(self, texts: Sequence[str], encoding: str) -> list[dict[str, list[int]]]:
        """Return the tokens of each text: their `ids` and `starts`, as `tokens.pieces`.

        Raises CountingError.
        """
        if not texts:
            return []
        answer = await self._finish(self._ask({"texts": list(texts), "encoding": encoding, "cut": True}))
        pieces: list[dict[str, list[int]]] = answer["pieces"]
        return pieces

    async def explore(self, request: LabRequest, tell: Tell | None = None) -> LabJson | RenderFailure:
        """Return what the truncation lab finds; `tell` hears how far it is.

        The time limit holds for one turn.
        """
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
        await self._process.stop()

    async def _finish(self, work: Coroutine[Any, Any, Answer]) -> Answer:
        """Return the result of `work`, which goes on when the caller is cancelled."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

    async def _start(self) -> None:
        async with self._lock:
            with contextlib.suppress(EOFError, OSError, LateError):
                await self._process.running()

    def _end_superseded(self, path: str, number: int) -> None:
        """End the process if it still runs the job of this number, whose outcome nobody waits for."""
        if (path, number) == self._at_work and self._newest.get(path) != number:
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
        """Return the answer to a request that runs a template, or why there is none.

        Raises SupersededError where the job has a `number`, and is no longer the newest of its file.
        """
        async with self._lock:
            ended = ""
            place: tuple[str, int] | None = None
            for _ in range(ATTEMPTS):
                self._at_work = job.path, number
                try:
                    await self._process.running()
                    # While the process starts, there is none that could be ended for a newer job.
                    if number is not None and self._newest.get(job.path) != number:
                        raise SupersededError
                    answer = await self._process.exchange(request, tell, job.encoding)
                except LateError as error:
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
                    # What filled the memory may still be held by something in the process.
                    await self._process.stop()
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
        """Return the answer to a question about texts; raises CountingError."""
        async with self._lock:
            for _ in range(ATTEMPTS):
                try:
                    answer = await self._process.exchange(request)
                except LateError:
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
        where = f", at line {line + 1} of {Path(path).name}" if line is not None else ""
        limit = plural(self.limits.seconds, "second")
        message = (
            f"Rendering did not end within its limit of {limit} and was stopped"
            f"{where}: look for a loop or a function that takes long."
        )
        return RenderFailure("timeout", message, path, line)

    def _out_of_memory(self) -> str:
        """Return the message for a job that met the memory limit."""
        memory = self.limits.memory_bytes
        limit = "" if memory is None else f" its limit of {memory / (1 << 20):.0f} MiB of"
        return f"Rendering needs more than{limit} memory: look for a loop or a value that grows."


def render_once(job: RenderJob, limits: Limits | None = None) -> Rendering | RenderFailure:
    """Return the outcome of one job, in a process that is started and ended for it.

    Raises RuntimeError where an event loop is running already: there, use RenderWorker.
    """

    async def run() -> Rendering | RenderFailure:
        worker = RenderWorker(limits)
        try:
            return await worker.render(job)
        finally:
            await worker.close()

    return asyncio.run(run())
