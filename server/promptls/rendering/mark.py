"""The line that a template is at, written down before what may take long, for another process to read.

A single operation of Python, such as `'x' * 10**9` or a power, lets no other thread look where it is.
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path
from typing import Final

_CELLS: Final = struct.Struct("=QQ")
_SIZE: Final = 64 * 1024
"""Bytes of the shared file: the cells, and behind them the paths of templates, each with its line break."""
_LINE_BITS: Final = 32


class Mark:
    """Where the templates of this process are: a number that names a file and a line of it."""

    def __init__(self) -> None:
        """Begin at no line, and tell nobody."""
        self.cells: list[int] | memoryview[int] = [0, 0]
        """The mark, and what it was when a thread could look at it last."""
        self._bases: dict[str, int] = {}
        self._map: mmap.mmap | None = None
        self._end = _CELLS.size

    def share(self, file: Path) -> None:
        """Write to a file that `new_mark_file` has made, from now on."""
        with file.open("r+b") as stream:
            self._map = mmap.mmap(stream.fileno(), _SIZE)
        self.cells = memoryview(self._map)[: _CELLS.size].cast("Q")

    def clear(self) -> None:
        """Nothing runs yet."""
        self.cells[0] = self.cells[1] = 0

    def look(self) -> None:
        """A thread could look at what runs: what is marked behind this moment is newer than what it saw."""
        self.cells[1] = self.cells[0]

    def base(self, path: str) -> int:
        """The mark of line 0 of the template at `path`."""
        base = self._bases.get(path)
        if base is None:
            base = self._bases[path] = (len(self._bases) + 1) << _LINE_BITS
            written = path.encode("utf-8", "surrogatepass") + b"\n"
            if self._map is not None and self._end + len(written) < _SIZE:
                self._map[self._end : self._end + len(written)] = written
                self._end += len(written)
        return base


MARK: Final = Mark()
"""The mark of this process."""


def new_mark_file(file: Path) -> None:
    """Make the `file` that a process can share its mark in."""
    file.write_bytes(bytes(_SIZE))


def marked_place(file: Path, *, unseen: bool) -> tuple[str, int] | None:
    """The template file and 0-based line that a process was at; None where it does not say.

    With `unseen`, only what no thread of it has seen.
    """
    try:
        content = file.read_bytes()
    except OSError:
        return None
    now, seen = _CELLS.unpack_from(content)
    paths = content[_CELLS.size :].split(b"\n")
    number = (now >> _LINE_BITS) - 1
    if not now or (unseen and now == seen) or not 0 <= number < len(paths) - 1:
        return None
    return paths[number].decode("utf-8", "surrogatepass"), now & ((1 << _LINE_BITS) - 1)
