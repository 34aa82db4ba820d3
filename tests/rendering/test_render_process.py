"""The connection to a rendering process, without a process."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
from functools import partial
from types import SimpleNamespace
from unittest.mock import AsyncMock, patch

from promptls.rendering.worker import Limits, RenderProcess


async def cancelled_at_the_end_of_the_process(logged: list[dict[str, object]]) -> None:
    asyncio.get_running_loop().set_exception_handler(lambda _, context: logged.append(context))
    output, sink = asyncio.StreamReader(), SimpleNamespace(write=len, drain=partial(asyncio.sleep, 0))
    process = SimpleNamespace(pid=os.getpid(), stdin=sink, stdout=output, returncode=None)
    with patch.object(RenderProcess, "running", AsyncMock(return_value=process)):
        exchange = asyncio.create_task(RenderProcess(Limits()).exchange({"texts": []}))
        await asyncio.sleep(0.05)
        output.feed_eof()
        exchange.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await exchange


def test_a_caller_that_is_cancelled_as_the_process_ends_leaves_no_exception_behind() -> None:
    logged: list[dict[str, object]] = []
    asyncio.run(cancelled_at_the_end_of_the_process(logged))
    gc.collect()
    assert logged == []
