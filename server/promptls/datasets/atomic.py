"""Atomic file replacement."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO


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
