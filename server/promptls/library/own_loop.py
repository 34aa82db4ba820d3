"""Coroutines that are run to their end where there may be an event loop already, as in a notebook."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from threading import Thread
from typing import Any, TypeVar

Made = TypeVar("Made")


def run_in_own_loop(work: Callable[[], Coroutine[Any, Any, Made]]) -> Made:
    """The result of the coroutine that `work` makes, in a loop of its own thread; raises what that raises."""
    made: list[Made] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            made.append(asyncio.run(work()))
        except BaseException as error:  # noqa: BLE001 - it is raised where it was asked for
            failed.append(error)

    thread = Thread(target=run)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return made[0]
