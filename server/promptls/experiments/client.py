"""Running experiments in separate processes, for the language server.

The server stays responsive, does not import user code, and survives crashes of the process.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import asdict, replace
from functools import partial
from typing import IO, Any, Final, NamedTuple

from promptls.experiments import run_protocol
from promptls.experiments.access import Access
from promptls.experiments.prepare import requested_access
from promptls.models.editor_model import AskEditor
from promptls.models.masking import KeyMask, key_mask
from promptls.security.processes import start_module, whole_environment
from promptls.text.errors import FilePlace, UserError, error_of


class WorkerProgram(NamedTuple):
    """A program that carries out requests in a process of its own."""

    module: str
    """Its main module, which calls `promptls.experiments.process.main`."""
    access: Callable[[Any], Access]
    """Returns what a request may access; raises the same UserErrors as its plan."""

    def named_variables(self, request: run_protocol.ProcessRequest) -> frozenset[str]:
        """Return the variables that the models of a request name; none if it cannot be carried out."""
        try:
            return self.access(request).named_variables
        except (UserError, LookupError, TypeError, ValueError):
            # The process reports what is wrong with the request, or with the manifest that it continues.
            return frozenset()


RUNS: Final = WorkerProgram("promptls.experiments.process", requested_access)

CANCEL_SECONDS = 1.0
"""Timeout in seconds for a cancelled process to report where its finished rows are."""

END_SECONDS = 0.5
"""Timeout in seconds for a process to exit after its last event: a thread of a metric may never end."""

LONGEST_EVENT = 256 * 1024 * 1024
"""Maximum size of an event in bytes; the last event contains the manifest."""

QUOTED = 500
"""Maximum number of characters of a dead process's error output that an error quotes."""


async def plan_in_process(
    request: run_protocol.ProcessRequest, program: WorkerProgram = RUNS
) -> run_protocol.Planned:
    """Return the plan of the requested run: its actions and cost, and the number of rows changed by edits.

    Every row is rendered, and no model is called. Raises `UserError` as `run_in_process` does.
    """
    planned: list[run_protocol.Planned] = []

    def keep(event: run_protocol.Event) -> None:
        if isinstance(event, run_protocol.Planned):
            planned.append(event)

    ended = await _follow(program, replace(request, only_plan=True), keep, None)
    assert ended is None
    return planned[0]


async def run_in_process(
    request: run_protocol.ProcessRequest,
    on_event: Callable[[run_protocol.Event], None],
    may_spend: Callable[[run_protocol.Planned], Awaitable[bool]] | None = None,
    ask_editor: AskEditor | None = None,
    program: WorkerProgram = RUNS,
) -> run_protocol.Finished:
    """Perform the requested run and return its final event; all earlier events go to `on_event`.

    An expensive run starts only if `may_spend` returns True; without `may_spend`, or with `yes`, immediately.
    If it returns False, the call is cancelled. Models of the editor are called with `ask_editor`,
    which never raises. Cancelling the call stops the run immediately;
    `Stopped` then reports where the finished rows are. Raises `UserError` if the run fails, and
    if its process dies, with the location of the finished rows.
    """
    request = request if may_spend else replace(request, yes=True)
    finished = await _follow(program, request, on_event, may_spend, ask_editor)
    assert finished is not None
    return finished


async def _follow(
    program: WorkerProgram,
    request: run_protocol.ProcessRequest,
    on_event: Callable[[run_protocol.Event], None],
    may_spend: Callable[[run_protocol.Planned], Awaitable[bool]] | None,
    ask_editor: AskEditor | None = None,
) -> run_protocol.Finished | None:
    access = await asyncio.to_thread(program.access, request)
    if not request.only_plan:
        access.check()
    secrets = {name: value for name, value in request.secrets.items() if name in access.key_variables}
    mask = key_mask(environment={**whole_environment(), **request.secrets})
    request = replace(request, secrets=secrets)
    with tempfile.TemporaryFile() as messages:
        process = await start_module(
            program.module, names=access.variables, messages=messages, limit=LONGEST_EVENT
        )
        run = _RunningProcess(process, messages, on_event, mask, ask_editor)
        try:
            await run.send(asdict(request))
            while True:
                event = await run.follow()
                if isinstance(event, run_protocol.Finished):
                    return event
                if request.only_plan:
                    return None
                if event.question is not None and not request.yes and may_spend is not None:
                    # A cancelled run ends the process, and cancels the waiting caller.
                    await run.send({"go": True} if await may_spend(event) else {"cancel": True})
        except _CancelledRunError:
            raise asyncio.CancelledError from None
        except asyncio.CancelledError:
            await run.cancel()
            raise
        finally:
            await run.end()


class _CancelledRunError(Exception):
    """The process reported that its run was cancelled."""


async def _send(process: asyncio.subprocess.Process, value: Any) -> None:
    assert process.stdin is not None
    with contextlib.suppress(ConnectionError):
        process.stdin.write(json.dumps(value).encode() + b"\n")
        await process.stdin.drain()


class _RunningProcess:
    def __init__(
        self,
        process: asyncio.subprocess.Process,
        messages: IO[bytes],
        on_event: Callable[[run_protocol.Event], None],
        mask: KeyMask,
        ask_editor: AskEditor | None,
    ) -> None:
        self._process = process
        self._messages = messages
        self._on_event = on_event
        self._mask = mask
        # Not `self.send`: in a reference cycle, what `on_event` collects would outlive the run.
        self._answers = run_protocol.EditorAnswers(ask_editor, partial(_send, process))
        self._path: str | None = None

    async def send(self, value: Any) -> None:
        """Send a line to the process; a dead process is detected when reading its answer."""
        await _send(self._process, value)

    async def follow(self) -> run_protocol.Finished | run_protocol.Planned:
        """Handle events until the last one, or the plan, and return it.

        Raises `UserError` if the run fails or its process exits without a last event.
        """
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            value = json.loads(line)
            if value["event"] == "Failed":
                raise error_of(value)
            if value["event"] == "Cancelled":
                raise _CancelledRunError
            if value["event"] in run_protocol.QUESTIONS:
                self._answers.process(value)
                continue
            event = run_protocol.from_json(value)
            if isinstance(event, run_protocol.Started):
                self._path = event.path
            self._on_event(event)
            if isinstance(event, run_protocol.Finished | run_protocol.Planned):
                return event
        raise self._death(await self._process.wait())

    async def cancel(self) -> None:
        """Ask the process to stop, and wait briefly for it to save its results."""
        await self.send({"cancel": True})
        with contextlib.suppress(asyncio.TimeoutError, _CancelledRunError, UserError):
            await asyncio.wait_for(self._follow_to_the_end(), CANCEL_SECONDS)

    async def _follow_to_the_end(self) -> None:
        while not isinstance(await self.follow(), run_protocol.Finished):
            pass

    async def end(self) -> None:
        """Let the process close its files, then kill it, and drop its pending requests."""
        self._answers.close()
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._process.wait(), END_SECONDS)
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
        await self._process.wait()

    def _death(self, code: int) -> UserError:
        self._messages.seek(0)
        output = self._messages.read().decode(errors="replace").strip()
        last = self._mask.mask(output.splitlines()[-1])[-QUOTED:] if output else ""
        ended = f"signal {-code}" if code < 0 else f"exit code {code}"
        return UserError(
            f"the process of the run ended unexpectedly ({ended}){f': {last}' if last else ''}",
            FilePlace(self._path) if self._path else None,
            f"the finished rows are kept; continue with `promptls run --resume {self._path}`"
            if self._path
            else "run it again: its answers are cached",
        )
