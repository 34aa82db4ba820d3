"""Rows with what they render to, kept on disk between the look before a run and the run itself.

What was looked at is what is sent, no row is rendered twice, and no number of rows fills the memory.
"""

from __future__ import annotations

import contextlib
import hashlib
import pickle
import tempfile
from array import array
from collections.abc import Iterator
from typing import Any

from promptls.datasets.files import Row
from promptls.experiments.row_rendering import RenderedRow


class RenderedRows:
    """A list of rows in a file without a name, which ends with the object."""

    def __init__(self) -> None:
        self._stream: Any = None
        # Where there is no space for a file at all, everything stays in memory.
        with contextlib.suppress(OSError):
            self._stream = tempfile.TemporaryFile(buffering=0, prefix="promptls-")  # noqa: SIM115 - kept open
        self._offsets = array("Q")
        # What a full disk does not take; the results need it more.
        self._in_memory: dict[int, bytes] = {}
        self._end = 0
        self._hash = hashlib.sha256()

    def __len__(self) -> int:
        return len(self._offsets)

    @property
    def hash(self) -> str:
        """The hash of everything that was rendered, in order."""
        return self._hash.hexdigest()

    def append(self, row: Row, rendered: RenderedRow) -> None:
        """Append the row."""
        packed = pickle.dumps((row.number, row.line, dict(row.values), rendered), pickle.HIGHEST_PROTOCOL)
        self._hash.update(rendered.digest.encode())
        self._offsets.append(self._end)
        with contextlib.suppress(OSError):
            if self._stream is not None:
                self._stream.seek(self._end)
                if self._stream.write(packed) == len(packed):
                    self._end += len(packed)
                    return
        self._in_memory[len(self._offsets) - 1] = packed

    def __iter__(self) -> Iterator[tuple[Row, RenderedRow]]:
        return map(self.__getitem__, range(len(self._offsets)))

    def __getitem__(self, index: int) -> tuple[Row, RenderedRow]:
        packed = self._in_memory.get(index)
        if packed is None:
            # Several runs may go over one list at once, so every step finds its own place.
            end = self._offsets[index + 1] if index + 1 < len(self._offsets) else self._end
            self._stream.seek(self._offsets[index])
            packed = self._stream.read(end - self._offsets[index])
        number, line, values, rendered = pickle.loads(packed)  # noqa: S301 - this object wrote it
        return Row(number, line, values), rendered

    def close(self) -> None:
        """Delete the file."""
        if self._stream is not None:
            self._stream.close()
