"""Where the lines of a run's table are, so that some of them are read without the others."""

from __future__ import annotations

import csv
import io
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path


class TableIndex:
    """Where the lines of a table begin; a cell with line breaks does not end one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._starts = array("Q")
        with path.open("rb") as stream:
            offset = 0
            is_open = False
            for line in stream:
                if not is_open:
                    self._starts.append(offset)
                offset += len(line)
                # A quote inside a cell is written twice, which changes nothing here.
                is_open ^= line.count(b'"') % 2 == 1
            self._starts.append(offset)
            stream.seek(0)
            header = stream.read(self._starts[1]) if len(self._starts) > 1 else b""
        self.columns = tuple(next(csv.reader(io.StringIO(header.decode("utf-8", "replace"))), ()))

    def __len__(self) -> int:
        return max(0, len(self._starts) - 2)

    def lines(self, places: Sequence[int]) -> Iterator[dict[str, str]]:
        """The cells of the lines at these places, counted from 0 behind the header."""
        with self.path.open("rb") as stream:
            for place in places:
                stream.seek(self._starts[place + 1])
                text = stream.read(self._starts[place + 2] - self._starts[place + 1])
                yield self._cells(text.decode("utf-8", "replace"))

    def all_lines(self) -> Iterator[dict[str, str]]:
        """The cells of every line, in order."""
        with self.path.open(encoding="utf-8", errors="replace", newline="") as stream:
            rows = csv.reader(stream)
            next(rows, None)
            for row in rows:
                yield dict(zip(self.columns, row, strict=False))

    def _cells(self, line: str) -> dict[str, str]:
        return dict(zip(self.columns, next(csv.reader(io.StringIO(line, newline="")), ()), strict=False))
