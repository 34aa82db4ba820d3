"""When a file was changed, and what is known of it until it changes again."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache, wraps
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

_Function = TypeVar("_Function", bound=Callable[..., Any])


class Stamp(NamedTuple):
    """What is another one when a file is: the time of its last change in nanoseconds, its size in bytes."""

    changed: int
    size: int


def stamp_of(path: str | Path) -> Stamp | None:
    """The stamp of the file at `path`; None where there is none."""
    try:
        status = os.stat(path)  # noqa: PTH116 - asked for with each keystroke, and a Path takes twice as long
    except (OSError, ValueError):  # of names that no file can have, too
        return None
    return Stamp(status.st_mtime_ns, status.st_size)


def kept_by_file(most: int) -> Callable[[_Function], _Function]:
    """Keeps what a function answers of a file until that changes, for the `most` that were asked about last.

    The function takes a path, and what else can be hashed. Where there is no file, it is called each time.
    """

    def keeping(function: _Function) -> _Function:
        @lru_cache(maxsize=most)
        def known(_stamp: Stamp, *asked: Any) -> Any:
            return function(*asked)

        @wraps(function)
        def answer(path: str | Path, *more: Any) -> Any:
            stamp = stamp_of(path)
            return function(path, *more) if stamp is None else known(stamp, path, *more)

        return cast("_Function", answer)

    return keeping
