"""Waiting for other processes and threads."""

from __future__ import annotations

import time
from collections.abc import Callable


def wait_until(happened: Callable[[], bool]) -> None:
    """Wait until the condition holds; fails after a minute."""
    deadline = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.005)
