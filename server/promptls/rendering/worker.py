"""The server's side of the worker: one process that renders and counts, one job at a time.

Nothing here imports Jinja, YAML or tiktoken: the process does.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from promptls.rendering.job import RenderJob
from promptls.rendering.limits import Limits
from promptls.rendering.outcome import RenderFailure, Rendering
from promptls.rendering.outcome_frame import unpacked_outcome
from promptls.rendering.rows import RowsRendered, unpacked_rows
from promptls.rendering.values import pack
from promptls.rendering.worker_process import LateError, RenderProcess, Tell
from promptls.text.counted import counted

if TYPE_CHECKING:
    from promptls.rendering.lab_request import LabRequest
    from promptls.truncation.report import LabJson

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
        await self._process.stop()

    async def _finish(self, work: Coroutine[Any, Any, Answer]) -> Answer:
        """The result of `work`, which goes on when the caller is cancelled."""
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
        """The answer to a request that runs a template, or why there is none.

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
        """The answer to a question about texts; raises CountingError."""
        async with self._lock:
            for _ in range(ATTEMPTS):
                try:
                    answer = await self._process.exchange(request)
                except LateError:
                    seconds = self.limits.start_seconds
                    raise CountingError(
                        f"Counting tokens took longer than {counted(seconds, 'second')}."
                    ) from None
                except (EOFError, OSError):
                    await self._process.stop()
                    continue
                if "error" in answer:
                    raise CountingError(answer["error"])
                return answer
        raise CountingError("The process that counts tokens cannot be started, or ends at once.")

    def _timed_out(self, job: RenderJob, place: tuple[str, int] | None) -> RenderFailure:
        """The failure for a job that was stopped at the time limit."""
        path, line = place or (job.path, None)
        where = f", at line {line + 1} of {Path(path).name}" if line is not None else ""
        limit = counted(self.limits.seconds, "second")
        message = (
            f"Rendering did not end within its limit of {limit} and was stopped"
            f"{where}: look for a loop or a function that takes long."
        )
        return RenderFailure("timeout", message, path, line)

    def _out_of_memory(self) -> str:
        """The message for a job that met the memory limit."""
        memory = self.limits.memory_bytes
        limit = "" if memory is None else f" its limit of {memory / (1 << 20):.0f} MiB of"
        return f"Rendering needs more than{limit} memory: look for a loop or a value that grows."
