"""One asking at a time for each answer, also where several processes run the same prompt at once.

Each key of an answer is a byte of the file `asking.lock` beside the cache, far behind its end, that a process
locks while it asks. The system frees what a process holds when it ends, however it ends.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import Final

from promptls.experiments.answer_cache import make_cache_folder

FILE: Final = "asking.lock"

# Bytes of a key that choose the byte of the file: two keys hardly ever have the same one.
_PLACE_BYTES: Final = 7


class CallLocks:
    """The locks of a cache's folder; where there can be no file of them, every key is free for everybody."""

    def __init__(self, folder: Path) -> None:
        self._file = _opened(folder)
        self._taken: set[int] = set()

    def take(self, key: bytes) -> bool:
        """Whether nobody else asks for the answer of this key; then nobody else does until it is freed."""
        if self._file is None:
            return True
        place = int.from_bytes(key[:_PLACE_BYTES], "big")
        if not self._file.take(place):
            return False
        self._taken.add(place)
        return True

    def free(self, key: bytes) -> None:
        """Others may ask for the answer of this key."""
        place = int.from_bytes(key[:_PLACE_BYTES], "big")
        if self._file is not None and place in self._taken:
            self._taken.discard(place)
            self._file.free(place)

    def close(self) -> None:
        """Everything that was taken is free."""
        file, self._file = self._file, None
        if file is not None:
            for place in self._taken:
                file.free(place)
            file.leave()


class _LockFile:
    """One open file of locks for the whole process: closing it a second time would free all of them."""

    def __init__(self, name: str, number: int) -> None:
        self._name = name
        self._number = number
        self._held: set[int] = set()
        self.users = 0

    @property
    def is_there(self) -> bool:
        """Whether the file is still the one that others open by its name."""
        try:
            return os.path.samestat(os.fstat(self._number), Path(self._name).stat())
        except OSError:
            return False

    def take(self, place: int) -> bool:
        # The system's locks are those of a process: it would give it the same one twice.
        if place in self._held:
            return False
        if not _lock(self._number, place):
            return False
        self._held.add(place)
        return True

    def free(self, place: int) -> None:
        self._held.discard(place)
        _unlock(self._number, place)

    def leave(self) -> None:
        self.users -= 1
        if not self.users:
            if _FILES.get(self._name) is self:
                del _FILES[self._name]
            os.close(self._number)


_FILES: Final[dict[str, _LockFile]] = {}


def _opened(folder: Path) -> _LockFile | None:
    name = str(folder / FILE)
    known = _FILES.get(name)
    if known is None or not known.is_there:
        try:
            make_cache_folder(folder)
            number = os.open(name, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError:
            return None
        known = _FILES[name] = _LockFile(name, number)
    known.users += 1
    return known


if sys.platform == "win32":
    import msvcrt

    def _lock(number: int, place: int) -> bool:
        os.lseek(number, place, os.SEEK_SET)
        try:
            msvcrt.locking(number, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _unlock(number: int, place: int) -> None:
        os.lseek(number, place, os.SEEK_SET)
        with contextlib.suppress(OSError):
            msvcrt.locking(number, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock(number: int, place: int) -> bool:
        try:
            fcntl.lockf(number, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
        except (BlockingIOError, PermissionError):
            return False
        except OSError:
            # A file system without locks must not keep a run from being made.
            return True
        return True

    def _unlock(number: int, place: int) -> None:
        with contextlib.suppress(OSError):
            fcntl.lockf(number, fcntl.LOCK_UN, 1, place)
