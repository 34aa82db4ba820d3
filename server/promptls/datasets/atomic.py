"""Files that are there as a whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO


@contextmanager
def replaced(path: Path, *, is_private: bool = False) -> Iterator[TextIO]:
    """Provide a stream whose text replaces the file at `path` when the block ends without an error.

    The text is valid UTF-8: half characters (lone surrogates) are written as escapes, which JSON reads back.
    After an error, `path` is as before and nothing else is left in its folder. Others may read the file as
    the user's umask says, unless it `is_private`. Raises OSError.
    """
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace", newline="") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        if not is_private:
            # A temporary file is private; results are as readable as what the user writes by hand.
            mask = os.umask(0)
            os.umask(mask)
            temporary.chmod(0o666 & ~mask)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
