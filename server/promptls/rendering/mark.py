"""The current position in the templates of a rendering process, which it shares with its owner."""

from __future__ import annotations

import contextlib
import mmap
import os
import struct
import sys
import tempfile
from pathlib import Path
from typing import Final

_CELLS: Final = struct.Struct("=QQ")
_SIZE: Final = 64 * 1024
"""The size of the shared file: the cells, followed by the paths of templates, one per line."""
_LINE_BITS: Final = 32


class Mark:
    """The current position in the templates of this process: a number that encodes a file and a line."""

    def __init__(self) -> None:
        """Create a mark without a position, which is not shared."""
        self.cells: list[int] | memoryview[int] = [0, 0]
        """The mark, and its value when a thread could last inspect it."""
        self._bases: dict[str, int] = {}
        self._map: mmap.mmap | None = None
        self._end = _CELLS.size

    def share(self, argument: str) -> None:
        """Write to the `MarkFile` with this argument from now on."""
        file = int(argument) if argument.isdigit() else argument
        with open(file, "r+b") as stream:  # noqa: PTH123 - it may be a descriptor
            self._map = mmap.mmap(stream.fileno(), _SIZE)
        self.cells = memoryview(self._map)[: _CELLS.size].cast("Q")

    def clear(self) -> None:
        """Reset the mark: no template is running."""
        self.cells[0] = self.cells[1] = 0

    def look(self) -> None:
        """Record that a thread can inspect the current position; different marks are newer."""
        self.cells[1] = self.cells[0]

    def base(self, path: str) -> int:
        """Return the mark of line 0 of the template at `path`."""
        base = self._bases.get(path)
        if base is None:
            base = self._bases[path] = (len(self._bases) + 1) << _LINE_BITS
            written = path.encode("utf-8", "surrogatepass") + b"\n"
            if self._map is not None and self._end + len(written) < _SIZE:
                self._map[self._end : self._end + len(written)] = written
                self._end += len(written)
        return base


MARK: Final = Mark()


class MarkFile:
    """The file in which a process shares its mark; it is anonymous, except on Windows.

    An anonymous file disappears even if its owner is killed.
    """

    def __init__(self) -> None:
        """Create the file; raises OSError."""
        self._name: Path | None = None
        if sys.platform == "win32":  # there, no other process could open a file without a name
            self._descriptor, name = tempfile.mkstemp(prefix="promptls-mark-")
            self._name = Path(name)
        else:
            with tempfile.TemporaryFile() as stream:
                self._descriptor = os.dup(stream.fileno())
        os.ftruncate(self._descriptor, _SIZE)

    @property
    def argument(self) -> str:
        """The process argument for the file: its name, or the number of an inherited descriptor."""
        return str(self._descriptor if self._name is None else self._name)

    @property
    def inherited(self) -> tuple[int, ...]:
        """The descriptors that the process must inherit."""
        return (self._descriptor,) if self._name is None else ()

    def close(self) -> None:
        """Close the file, after its process has ended."""
        os.close(self._descriptor)
        if self._name is not None:
            with contextlib.suppress(OSError):
                self._name.unlink()

    def place(self, *, unseen: bool) -> tuple[str, int] | None:
        """Return the last template file and 0-based line of the process; None if unknown.

        With `unseen`, return only a position that no thread of the process has inspected.
        """
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        content = os.read(self._descriptor, _SIZE)
        now, seen = _CELLS.unpack_from(content)
        paths = content[_CELLS.size :].split(b"\n")
        index = (now >> _LINE_BITS) - 1
        if not now or (unseen and now == seen) or not 0 <= index < len(paths) - 1:
            return None
        return paths[index].decode("utf-8", "surrogatepass"), now & ((1 << _LINE_BITS) - 1)
