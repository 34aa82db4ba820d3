"""Files of the user alone: stores, caches and copies, which hold prompts, data and answers.

What is published, such as a table of results, is created with the user's umask instead.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import tempfile
import threading
import time
from pathlib import Path
from typing import IO, Any, Final

_FILE_MODE: Final = 0o600
_FOLDER_MODE: Final = 0o700
_FLAGS: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""A symbolic link is not followed, and opening a named pipe does not wait."""

_CREATION: Final = threading.Lock()
"""Held while a file is created: its descriptor is closed before anybody else in this process locks it."""

MAX_AGE_DAYS: Final = 7
"""How long copies stay that a process which was killed has left behind."""

TEMPORARY_PREFIX: Final = "promptls-runs-"
"""How the names of temporary folders begin that hold rows of runs."""


def make_private_folder(folder: Path) -> None:
    """Create the folder for the user alone; one that is there stays as it is. Raises OSError."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=_FOLDER_MODE, exist_ok=True)


def open_private(path: Path, mode: str, **options: Any) -> IO[Any]:
    """Open a file as `open` does, and create it for the user alone.

    Raises OSError, also for a symbolic link and for what is no regular file.
    """
    return open(path, mode, opener=private_descriptor, **options)


def private_descriptor(path: str | os.PathLike[str], flags: int) -> int:
    """Return a descriptor as `os.open` does, under the conditions of `open_private`."""
    descriptor = os.open(path, flags | _FLAGS, _FILE_MODE)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _no_regular_file(path)
    return descriptor


def ensure_private_file(path: Path) -> None:
    """Create the file, empty, unless it is there; raises OSError as `open_private` does.

    For SQLite, which opens a file by its name, and would create it for everybody. A file that is there is not
    opened: to close it again would release the locks that SQLite holds on it in this process.
    """
    with _CREATION:
        try:
            os.close(private_descriptor(path, os.O_RDWR | os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            if not stat.S_ISREG(path.lstat().st_mode):
                raise _no_regular_file(path) from None


def remove_old_files(folder: Path, *, days: float = MAX_AGE_DAYS) -> None:
    """Remove the files below the folder that have not changed for some days; what cannot be removed stays."""
    before = time.time() - days * 86400
    for current, folders, files in os.walk(folder, topdown=False):
        for name in files:
            path = Path(current, name)
            with contextlib.suppress(OSError):
                if path.lstat().st_mtime < before:
                    path.unlink()
        for name in folders:
            with contextlib.suppress(OSError):
                Path(current, name).rmdir()


def remove_old_temporaries(*, days: float = MAX_AGE_DAYS) -> None:
    """Remove this user's temporary folders that runs which were killed some days ago have left behind."""
    before = time.time() - days * 86400
    for path in Path(tempfile.gettempdir()).glob(f"{TEMPORARY_PREFIX}*"):
        with contextlib.suppress(OSError):
            found = path.lstat()
            is_own = not hasattr(os, "getuid") or found.st_uid == os.getuid()
            if is_own and stat.S_ISDIR(found.st_mode) and found.st_mtime < before:
                shutil.rmtree(path, ignore_errors=True)


def _no_regular_file(path: str | os.PathLike[str]) -> OSError:
    return OSError(errno.EINVAL, "it is not a regular file", os.fspath(path))
