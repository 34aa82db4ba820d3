"""The journal of a run: every finished row is on disk as soon as it is finished.

One JSON object a line: what is being run first, then each result, and each call that is about to be made,
so that whoever goes on knows which calls nobody has seen the end of. A run that ends well
makes its table from the journal and removes it; a run that is cancelled or killed leaves it, and can be
gone on with. Only one process at a time writes to a journal.
"""

from __future__ import annotations

import contextlib
import json
import os
from array import array
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from io import FileIO
from itertools import repeat
from pathlib import Path
from typing import Any

from promptls.experiments.row_result import RowResult
from promptls.experiments.under_way import CallUnderWay
from promptls.text.failure import Failure, FilePlace, WrongUse

SUFFIX = ".partial.jsonl"


class Journal:
    """An open journal under a name that no other run has; every method leaves what was written readable."""

    def __init__(self, path: Path, stream: FileIO) -> None:
        self.path = path
        self._stream = stream
        self._end = 0
        self._models: dict[str, int] = {}
        self._repeats = 1
        # Where the newest result of each asking stands, by the asking's place in the table; 0 where there is
        # none, since a result never stands at the beginning of the file.
        self._offsets = array("Q")
        self._count = 0
        self._failed: set[int] = set()
        self._unscored: set[int] = set()
        self._under_way: dict[int, list[CallUnderWay]] = {}

    @property
    def name(self) -> str:
        """The name of the run: `20261121-143000-triage_v2`."""
        return self.path.name.removesuffix(SUFFIX)

    @property
    def count(self) -> int:
        """How many results are on disk."""
        return self._count

    def describe(self, header: Mapping[str, Any], models: Sequence[str], repeats: int) -> None:
        """The first line, which says what is being run, is on disk."""
        self._order(models, repeats)
        self._append({"run": dict(header)})

    @property
    def under_way(self) -> list[CallUnderWay]:
        """The calls that the file speaks of, as it was read back, and whose results it does not hold."""
        return [call for calls in self._under_way.values() for call in calls]

    def note_call(self, number: int, model: str, repeat: int, asked: str, key: bytes | None) -> None:
        """It is on disk that this call is about to be made; raises `Failure` when it is not.

        `asked` is the model itself or a judge of its answer, and `key` that of the answer in the cache.
        """
        self._append({"call": CallUnderWay(number, model, repeat, asked, key.hex() if key else "")})

    def sync(self) -> None:
        """What was written so far survives a power cut; another thread may ask for it."""
        with contextlib.suppress(OSError, ValueError):
            os.fsync(self._stream.fileno())

    def append(self, result: RowResult) -> None:
        """The result is on disk; raises `Failure` when it is not, with the others still readable."""
        offset = self._end
        self._append(result.to_json())
        self._note(result, offset)

    def has_answer(self, number: int, model: str, repeat: int) -> bool:
        """Whether there is a result for this asking without an error, and with all of its scores."""
        place = self._place(number, model, repeat)
        return self._offset(place) > 0 and place not in self._failed and place not in self._unscored

    def unscored(self, number: int, model: str, repeat: int) -> RowResult | None:
        """The result of this asking that has a response and lacks scores; None where there is none such."""
        place = self._place(number, model, repeat)
        if place not in self._unscored:
            return None
        with self.path.open("rb") as stream:
            stream.seek(self._offsets[place])
            return RowResult.from_json(json.loads(stream.readline()))

    def forget_failed(self) -> None:
        """Results with an error count no more; each is asked for again."""
        for place in self._failed:
            self._offsets[place] = 0
            self._count -= 1
        self._failed.clear()

    def results(self) -> Iterator[RowResult]:
        """Every result, by row, then in the order of the models, then by repeat; one at a time in memory."""
        with self.path.open("rb") as stream:
            for offset in filter(None, self._offsets):
                stream.seek(offset)
                yield RowResult.from_json(json.loads(stream.readline()))

    def close(self) -> None:
        """The file is closed and kept."""
        with contextlib.suppress(OSError):
            self._stream.close()

    def remove(self) -> None:
        """The file is gone; what it held is in the run's table."""
        # While the lock is held, nobody can begin to go on with it.
        with contextlib.suppress(PermissionError):
            self.path.unlink(missing_ok=True)
        self.close()
        self.path.unlink(missing_ok=True)

    def read_back(self, models: Sequence[str], repeats: int) -> None:
        """What the file holds is known; a line that was cut short is taken off its end."""
        self._order(models, repeats)
        whole = 0
        with self.path.open("rb") as stream:
            for line in stream:
                if not line.endswith(b"\n"):
                    break
                with contextlib.suppress(ValueError, KeyError, TypeError):
                    value = json.loads(line)
                    if "call" in value:
                        call = CallUnderWay.from_json(value["call"])
                        self._under_way.setdefault(self._place(*call[:3]), []).append(call)
                    elif "run" not in value:
                        self._note(RowResult.from_json(value), whole)
                whole += len(line)
        self._end = whole
        self._stream.truncate(whole)
        self._stream.seek(whole)

    def _order(self, models: Sequence[str], repeats: int) -> None:
        self._models = {model: index for index, model in enumerate(models)}
        self._repeats = repeats

    def _place(self, number: int, model: str, repeat: int) -> int:
        return (number * len(self._models) + self._models[model]) * self._repeats + repeat - 1

    def _offset(self, place: int) -> int:
        return self._offsets[place] if 0 <= place < len(self._offsets) else 0

    def _note(self, result: RowResult, offset: int) -> None:
        place = self._place(result.number, result.model, result.repeat)
        if place >= len(self._offsets):
            self._offsets.extend(repeat(0, place + 1 - len(self._offsets)))
        self._count += not self._offsets[place]
        self._under_way.pop(place, None)
        self._offsets[place] = offset
        (self._failed.discard if result.error is None else self._failed.add)(place)
        (self._unscored.add if result.unscored and result.error is None else self._unscored.discard)(place)

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
                f"free some space and go on with `promptls run --resume {self.name}`; "
                f"the {self.count} finished rows are in this file",
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
                stream = path.open("xb", buffering=0)
                _lock(stream)
                return Journal(path, stream)
    except OSError as error:
        raise Failure(
            f"the results cannot be written: {(error.strerror or str(error)).lower()}",
            FilePlace(folder),
            "make the folder writable, or free some space",
        ) from None
    raise Failure("a thousand runs began in this second", FilePlace(folder), "run again")


def reopen_journal(path: Path) -> Journal:
    """The journal of a run that did not end, to be gone on with; its lines are read by `read_back`.

    Raises `WrongUse` while another process writes to it, and where there is none.
    """
    try:
        stream = path.open("r+b", buffering=0)
    except OSError as error:
        raise WrongUse(
            f"the run cannot be gone on with: {(error.strerror or str(error)).lower()}", FilePlace(path)
        ) from None
    if not _lock(stream):
        stream.close()
        raise WrongUse("this run is going on in another process", FilePlace(path), "wait for its end")
    return Journal(path, stream)


def is_running(path: Path) -> bool:
    """Whether a process writes to the journal at `path`."""
    try:
        with path.open("r+b", buffering=0) as stream:
            return not _lock(stream)
    except OSError:
        return False


def is_result(line: bytes) -> bool:
    """Whether a line of a journal is a whole result, and neither what is run nor a call under way."""
    return line.endswith(b"\n") and not line.startswith((b'{"run":', b'{"call":'))


def read_header(path: Path) -> dict[str, Any] | None:
    """What the journal says is being run; None where it was killed before it could."""
    try:
        with path.open("rb") as stream:
            value = json.loads(stream.readline())["run"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return value if isinstance(value, dict) else None


def _lock(stream: FileIO) -> bool:
    """Whether the file is now this process's own; the system frees it when the process ends."""
    import portalocker

    try:
        portalocker.lock(stream, portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING)
    except portalocker.AlreadyLocked:
        return False
    except portalocker.LockException:
        # A file system without locks must not keep a run from being made.
        return True
    return True
