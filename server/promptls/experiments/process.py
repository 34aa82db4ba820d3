"""The process of a run: `python -m promptls.experiments.process`, started by the language server.

It reads a JSON request, see `RunRequest`, from the first line of standard input, and writes JSON events to
standard output, one per line: those of `promptls.experiments.run_protocol` and finally, instead of
`Finished`, `{"event": "Failed"}` with the error as JSON, or `{"event": "Cancelled"}`. After `Planned` with a
question, the line `{"go": true}` starts the run.
Models of the editor are called as described in `promptls.experiments.run_protocol`.
A line `{"cancel": true}`, or the end of standard input, stops the run; finished rows remain stored.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, NoReturn, TypeAlias, TypeVar

from promptls.experiments.access import Access
from promptls.experiments.folder_code import code_of_run
from promptls.experiments.leave_one_out import prepared_left_out, run_left_out
from promptls.experiments.prepare import prepare_run, requested_access
from promptls.experiments.prompt_runner import run_plan
from promptls.experiments.python.program import prepared_python
from promptls.experiments.python.program_runner import run_python
from promptls.experiments.python.request import python_request
from promptls.experiments.run_protocol import EditorLink, Planned, ProcessRequest, RunRequest, to_json
from promptls.models.editor_model import EDITOR
from promptls.models.masking import key_mask
from promptls.security.files import FileScope, restrict_reading
from promptls.security.processes import claim_standard_output, restrict_environment
from promptls.text.errors import UsageError, UserError

Request = TypeVar("Request", bound=ProcessRequest)
Notify: TypeAlias = Callable[[Mapping[str, Any]], None]
"""Writes one event."""

GRACE_SECONDS: Final = 5.0
"""Timeout in seconds for a run to stop after the client has disconnected."""

MayGo: TypeAlias = Callable[[Planned], Awaitable[bool]]
"""Reports a plan, waits for the answer to its question, and returns whether to run it."""


def main(
    read: Callable[..., Request],
    access_of: Callable[[Request], Access],
    run: Callable[[Request, Notify, MayGo], Awaitable[None]],
) -> int:
    """Run the request parsed by `read`; return 0 if it completed, 1 if it failed or was cancelled.

    `access_of` returns what a request may access.
    """
    events = claim_standard_output()

    def notify(value: Mapping[str, Any]) -> None:
        events.write(json.dumps(value, default=str) + "\n")
        events.flush()

    try:
        request = read(**json.loads(sys.stdin.readline()))
        access = access_of(request)
        restrict_environment(access.variables)
        # Only in this process are the client's secrets added to the environment, and only those that
        # the run's models use.
        named = access.key_variables
        os.environ.update({name: value for name, value in request.secrets.items() if name in named})
        asyncio.run(_listening(request, notify, run))
    except asyncio.CancelledError:
        notify({"event": "Cancelled"})
    except UserError as failure:
        mask = key_mask().mask
        remedy = None if failure.remedy is None else mask(failure.remedy)
        masked = UserError(mask(failure.message), failure.place, remedy)
        notify({"event": "Failed", **masked.to_json()})
    else:
        return 0
    return 1


async def _listening(
    request: Request, notify: Notify, run: Callable[[Request, Notify, MayGo], Awaitable[None]]
) -> None:
    task = asyncio.current_task()
    assert task is not None
    loop = asyncio.get_running_loop()
    go = asyncio.Event()
    link = EditorLink(notify)
    if request.editor:
        EDITOR.set(link.ask)

    def receive(line: Mapping[str, Any]) -> None:
        if "go" in line:
            go.set()
        elif "answer" in line:
            link.answered(line)

    async def may_go(planned: Planned) -> bool:
        notify(to_json(planned))
        if planned.question is not None and not request.yes and not request.only_plan:
            await go.wait()
        return not request.only_plan

    threading.Thread(target=_listen, args=(loop, task, receive), daemon=True).start()
    await run(request, notify, may_go)


def _confined(**values: Any) -> RunRequest:
    """Return the request, limited to reading its `roots`; raises UsageError if it would run their code."""
    request = RunRequest(**values)
    if request.roots is not None:
        scope = FileScope(tuple(request.roots))
        restrict_reading(lambda: scope)
        if code := code_of_run(request):
            raise UsageError(f"the folder is not trusted, and the run would {code}", remedy="trust it first")
    return request


async def _run(request: RunRequest, notify: Notify, may_go: MayGo) -> None:
    if (code_defined := python_request(request)) is not None:
        with prepared_python(code_defined) as ready:
            if await may_go(ready.planned):
                await run_python(ready, lambda event: notify(to_json(event)))
        return
    if request.leave_one_out:
        async with prepared_left_out(request) as left:
            os.chdir(left.whole.plan.experiment.base)
            if await may_go(left.planned):
                await run_left_out(left, lambda event: notify(to_json(event)))
        return
    async with prepare_run(request) as (plan, continued, planned):
        # Metrics can open files relative to their own file, as when it is run as a script.
        os.chdir(plan.experiment.base)
        if await may_go(planned):
            await run_plan(plan, lambda event: notify(to_json(event)), continued=continued)


def _listen(
    loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any], receive: Callable[[Mapping[str, Any]], None]
) -> None:
    # The loop is already closed if the run has completed.
    with contextlib.suppress(RuntimeError):
        for line in sys.stdin:
            said = json.loads(line)
            if "cancel" in said:
                break
            loop.call_soon_threadsafe(receive, said)
        loop.call_soon_threadsafe(task.cancel)
    for _line in sys.stdin:
        pass
    # A metric or function that never returns must not outlive the client. The rows are stored.
    time.sleep(GRACE_SECONDS)
    leave(1)


def leave(code: int) -> NoReturn:
    """Exit the process even if a metric's thread never ends."""
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    leave(main(_confined, requested_access, _run))
