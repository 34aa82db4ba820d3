"""The connection to a rendering process, and its end."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import subprocess
import sys
from functools import partial
from types import SimpleNamespace
from unittest.mock import AsyncMock, patch

import pytest

from promptls.rendering.job import HEADER_BYTES, body_length, encode_frame
from promptls.rendering.mark import MarkFile
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


@pytest.mark.usefixtures("real_starts")
def test_a_process_that_nobody_listens_to_ends_without_a_word() -> None:
    mark = MarkFile()
    process = subprocess.Popen(
        [sys.executable, "-m", "promptls.rendering.process", "none", mark.argument],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=mark.inherited,
    )
    with process, contextlib.closing(mark):
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(body_length(process.stdout.read(HEADER_BYTES)))  # it is ready
        process.stdout.close()

        process.stdin.write(encode_frame({"id": 1, "texts": ["one"], "encoding": "o200k_base"}))
        process.stdin.flush()

        assert process.wait(20) == 0
        assert process.stderr.read() == b""
