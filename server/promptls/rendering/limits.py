"""How much a render may take."""

from __future__ import annotations

import sys
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a worker. They hold for one job at a time, not for a session."""

    seconds: float = 5.0
    """How long a job may run, counted from where its encoding is loaded."""
    memory_bytes: int | None = 1 << 30
    """How much memory the worker's process may have; None for no limit."""
    start_seconds: float = 60.0
    """How long the process may take to start, to load an encoding, or to count plain texts."""


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
