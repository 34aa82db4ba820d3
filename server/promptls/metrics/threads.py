"""Threads that wait for work, and that keep no program from ending.

The threads of the standard library's pools are waited for at the end, for ever where a function never ends;
a new thread for each row takes longer than most metrics.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import TypeAlias

_Work: TypeAlias = Callable[[], None]

_FREE: list[SimpleQueue[_Work]] = []
"""The inboxes of threads that have nothing to do."""


def start_in_thread(work: _Work) -> None:
    """`work`, which raises nothing, begins in a thread: a free one, or a new one where there is none."""
    try:
        inbox = _FREE.pop()
    except IndexError:
        inbox = SimpleQueue()
        threading.Thread(target=_serve, args=(inbox,), daemon=True).start()
    inbox.put(work)


def _serve(inbox: SimpleQueue[_Work]) -> None:
    while True:
        inbox.get()()
        _FREE.append(inbox)
