"""The journal of a run: every finished row is on disk as soon as it is finished.

One JSON object a line: what is being run first, then one result each. A run that ends well
makes its table from the journal and removes it; a run that is cancelled or killed leaves it.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from io import FileIO
from pathlib import Path
from typing import Any

from promptls.experiments.row_result import RowResult
from promptls.text.failure import Failure, FilePlace

SUFFIX = ".partial.jsonl"


@dataclass(frozen=True, slots=True)
class _Written:
    """Where a result stands in the journal, with what it is sorted by in the table."""

    number: int
    model: str
    repeat: int
    offset: int


class Journal:
    """An open journal under a name that no other run has; every method leaves what was written readable."""

    def __init__(self, path: Path, stream: FileIO) -> None:
        self.path = path
        self._stream = stream
        self._end = 0
        self._written: list[_Written] = []

    @property
    def name(self) -> str:
        """The name of the run: `20261121-143000-triage_v2`."""
        return self.path.name.removesuffix(SUFFIX)

    @property
    def count(self) -> int:
        """How many results are on disk."""
        return len(self._written)

    def describe(self, header: Mapping[str, Any]) -> None:
        """The first line, which says what is being run, is on disk."""
        self._append({"run": dict(header)})

    def append(self, result: RowResult) -> None:
        """The result is on disk; raises `Failure` when it is not, with the others still readable."""
        offset = self._end
        self._append(result.to_json())
        self._written.append(_Written(result.number, result.model, result.repeat, offset))

    def results(self, models: tuple[str, ...]) -> Iterator[RowResult]:
        """Every result, by row, then in the order of `models`, then by repeat; one at a time in memory."""
        place = {model: index for index, model in enumerate(models)}
        order = sorted(self._written, key=lambda each: (each.number, place[each.model], each.repeat))
        with self.path.open("rb") as stream:
            for written in order:
                stream.seek(written.offset)
                yield RowResult.from_json(json.loads(stream.readline()))

    def close(self) -> None:
        """The file is closed and kept."""
        with contextlib.suppress(OSError):
            self._stream.close()

    def remove(self) -> None:
        """The file is gone; what it held is in the run's table."""
        self.close()
        self.path.unlink(missing_ok=True)

    def _append(self, value: Mapping[str, Any]) -> None:
        line = json.dumps(value, ensure_ascii=False, default=str).encode("utf-8", "surrogatepass") + b"\n"
        try:
            # A disk that is nearly full takes the beginning of a line, and refuses only the next write.
            written = 0
            while written < len(line):
                written += self._stream.write(line[written:])
        except OSError as error:
            # Half a line would be taken for the beginning of the next one.
            with contextlib.suppress(OSError):
                os.ftruncate(self._stream.fileno(), self._end)
            raise Failure(
                f"the results cannot be written: {(error.strerror or str(error)).lower()}",
                FilePlace(self.path),
                f"free some space and run again; the {self.count} finished rows are in this file",
            ) from None
        self._end += len(line)


def create_journal(folder: Path, name: str, now: datetime) -> Journal:
    """A new journal `<YYYYMMDD-HHMMSS>-<name>.partial.jsonl`, under a name that no run in `folder` has.

    Two runs that begin in the same second get different names.
    """
    begin = f"{now:%Y%m%d-%H%M%S}-{name}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for attempt in range(1, 1000):
            run = begin if attempt == 1 else f"{begin}-{attempt}"
            # The names of finished runs are looked for first, those of running ones by creating the file.
            if any((folder / f"{run}{ending}").exists() for ending in (".csv", ".json")):
                continue
            with contextlib.suppress(FileExistsError):
                path = folder / f"{run}{SUFFIX}"
                return Journal(path, path.open("xb", buffering=0))
    except OSError as error:
        raise Failure(
            f"the results cannot be written: {(error.strerror or str(error)).lower()}",
            FilePlace(folder),
            "make the folder writable, or free some space",
        ) from None
    raise Failure("a thousand runs began in this second", FilePlace(folder), "run again")


def read_journal(path: Path) -> Iterator[RowResult]:
    """The results in a journal that a cancelled or killed run left; a line that is cut short is skipped."""
    with path.open("rb") as stream:
        for line in stream:
            with contextlib.suppress(ValueError, KeyError, TypeError):
                value = json.loads(line)
                if "run" not in value:
                    yield RowResult.from_json(value)
