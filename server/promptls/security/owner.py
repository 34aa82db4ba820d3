"""Ending a child process together with its parent, however that ends."""

from __future__ import annotations

import os
import signal
import sys


def end_with_owner() -> None:
    """Have the system end this process when the thread that started it ends; only supported by Linux.

    Elsewhere, and before this call, a process must detect the end of standard input.
    """
    if sys.platform != "linux":
        return
    import ctypes

    set_parent_death_signal = 1
    owner = os.getppid()
    ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != owner:  # the parent ended just before
        os._exit(1)
