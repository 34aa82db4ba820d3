"""A file that somebody else writes line by line, read on as it grows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final


class GrowingFile:
    """Knows how far the file was read; belongs to one thread at a time."""

    def __init__(self, path: Path) -> None:
        """Nothing is read yet."""
        self._path: Final = path
        self._read = 0

    def new_lines(self) -> Iterator[bytes]:
        """The lines that were finished since the last call; none where the file is gone."""
        try:
            with self._path.open("rb") as stream:
                stream.seek(self._read)
                for line in stream:
                    if not line.endswith(b"\n"):
                        return
                    self._read += len(line)
                    yield line
        except OSError:
            return
