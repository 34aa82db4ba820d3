"""Write files: replace them at once, and make stores, caches and copies private to the user.

These contain prompts, data and answers. Files to share, such as tables of results, are created with the
user's umask instead.
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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final, TextIO

_FILE_MODE: Final = 0o600
_FOLDER_MODE: Final = 0o700
_FLAGS: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""Symbolic links are not followed, and opening a named pipe does not block."""

_CREATION: Final = threading.Lock()
"""A lock for creating files, so that the descriptor is closed before other code locks the file."""

MAX_AGE_DAYS: Final = 7
"""The age after which copies left behind by killed processes are deleted."""

TEMPORARY_PREFIX: Final = "promptls-runs-"
"""The prefix of the names of temporary folders with rows of runs."""


def cache_folder() -> Path:
    """Return the user's cache folder: `$PROMPTLS_CACHE_DIR`, or the default of the system."""
    from platformdirs import user_cache_path

    named = os.environ.get("PROMPTLS_CACHE_DIR", "").strip()
    return Path(named).absolute() if named else user_cache_path("promptls", appauthor=False)


def make_private_folder(folder: Path) -> None:
    """Create a folder private to the user; an existing one is not changed. Raises OSError."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=_FOLDER_MODE, exist_ok=True)


def open_private(path: Path, mode: str, **options: Any) -> IO[Any]:
    """Open a file like `open`; a new file is private to the user.

    Raises OSError, also for a symbolic link and for anything but a regular file.
    """
    return open(path, mode, opener=private_descriptor, **options)


def private_descriptor(path: str | os.PathLike[str], flags: int) -> int:
    """Return a descriptor like `os.open`, under the conditions of `open_private`."""
    descriptor = os.open(path, flags | _FLAGS, _FILE_MODE)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _no_regular_file(path)
    return descriptor


def ensure_private_file(path: Path) -> None:
    """Create an empty file unless it exists; raises OSError like `open_private`.

    This is for SQLite, which opens files by name, and would create them readable by everybody. An existing
    file is not opened: closing it would release SQLite's locks on it in this process.
    """
    with _CREATION:
        try:
            os.close(private_descriptor(path, os.O_RDWR | os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            if not stat.S_ISREG(path.lstat().st_mode):
                raise _no_regular_file(path) from None


def remove_old_files(folder: Path) -> None:
    """Remove the files below the folder that have not changed for some days; ignore failures."""
    before = time.time() - MAX_AGE_DAYS * 86400
    for current, folders, files in os.walk(folder, topdown=False):
        for name in files:
            path = Path(current, name)
            with contextlib.suppress(OSError):
                if path.lstat().st_mtime < before:
                    path.unlink()
        for name in folders:
            with contextlib.suppress(OSError):
                Path(current, name).rmdir()


def remove_old_temporaries() -> None:
    """Remove this user's temporary folders left behind by runs that were killed some days ago."""
    before = time.time() - MAX_AGE_DAYS * 86400
    for path in Path(tempfile.gettempdir()).glob(f"{TEMPORARY_PREFIX}*"):
        with contextlib.suppress(OSError):
            found = path.lstat()
            is_own = not hasattr(os, "getuid") or found.st_uid == os.getuid()
            if is_own and stat.S_ISDIR(found.st_mode) and found.st_mtime < before:
                shutil.rmtree(path, ignore_errors=True)


def _no_regular_file(path: str | os.PathLike[str]) -> OSError:
    return OSError(errno.EINVAL, "it is not a regular file", os.fspath(path))


@contextmanager
def replace_file(path: Path, *, is_private: bool = False) -> Iterator[TextIO]:
    """Yield a stream whose text replaces the file at `path` if the block completes without an error.

    The output is valid UTF-8: lone surrogates are written as escape sequences, which JSON can read back.
    On error, `path` is unchanged and no temporary file remains in its folder. The file's permissions follow
    the user's umask, unless `is_private` is set. Raises OSError.
    """
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace", newline="") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        if not is_private:
            # Temporary files are private; results get the permissions of any file that the user creates.
            mask = os.umask(0)
            os.umask(mask)
            temporary.chmod(0o666 & ~mask)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
