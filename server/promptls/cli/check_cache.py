"""Results of earlier runs of `promptls check`, reused while nothing that they depend on has changed.

What is read while a file is checked is recorded as questions with their answers (`promptls.facts`). The cache
stores a digest of each answer, and a result is valid if every question has the same answer again. Files are
compared by content, because modification times differ between checkouts.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import sqlite3
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from functools import lru_cache
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple

from pydantic import BaseModel, TypeAdapter

from promptls.facts import QUESTIONS, Question, Reads, name_of
from promptls.lint.rule import Finding
from promptls.security.files import (
    Stamp,
    folder_changed,
    folder_changed_again,
    names_in,
    read_bytes,
    stamp_again,
    stamp_of,
)
from promptls.security.written_files import cache_folder, ensure_private_file, make_private_folder
from promptls.semantic.kind import Kind
from promptls.workspace.snapshot import Snapshot

_MAX_DAYS: Final = 30
"""How long a result is stored."""
_SETTLED_NS: Final = 2_000_000_000
"""How long ago a file must have changed: two changes in one tick of a clock have the same time."""
_WAIT_SECONDS: Final = 1.0
"""How long another process may lock the database."""
_TABLE: Final = """
    CREATE TABLE IF NOT EXISTS results (key, path, day, questions, result, PRIMARY KEY (key, path))
"""
_FILE_QUESTIONS: Final = frozenset({Snapshot.text_version, stamp_again})


class FileResult(NamedTuple):
    """The findings in a file, and what was left out.

    `lacks_code` is whether it was rendered without code that it needs, and `outside` are the files that it
    names and that may not be read, as they are written.
    """

    kind: Kind
    findings: tuple[Finding, ...]
    suppressed: tuple[Finding, ...]
    lacks_code: bool = False
    outside: tuple[str, ...] = ()


class StoredResult(NamedTuple):
    """A result, and the questions that it depends on with digests of their answers, both as JSON."""

    questions: str
    result: str


class CheckCache:
    """The stored results of checks with the same options, in a database in the user's cache folder.

    Without a usable database, nothing is found or stored.
    """

    def __init__(self, snapshot: Snapshot, options: Iterable[str]) -> None:
        """Use the results of checks with the same `options` in the same projects."""
        self._file: Final = cache_folder() / "check.sqlite"
        key = [*_installation(), *snapshot.roots, str(Path.cwd()), *options]
        self._key: Final = _digest(json.dumps(key).encode())

    def read(self, paths: Iterable[str]) -> dict[str, StoredResult]:
        """Return the stored results of the files by their absolute paths."""
        found: dict[str, StoredResult] = {}
        query = "SELECT questions, result FROM results WHERE key = ? AND path = ?"
        with contextlib.suppress(sqlite3.Error, OSError), _transaction(self._file) as database:
            for path in paths:
                for row in database.execute(query, (self._key, path)):
                    found[path] = StoredResult(*row)
        return found

    def write(self, results: Mapping[str, StoredResult]) -> None:
        """Store results, and remove old ones."""
        day = int(time.time() // 86_400)
        rows = [(self._key, path, day, *stored) for path, stored in results.items()]
        with contextlib.suppress(sqlite3.Error, OSError), _transaction(self._file) as database:
            database.executemany("INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?, ?)", rows)
            database.execute("DELETE FROM results WHERE day < ?", (day - _MAX_DAYS,))


@contextlib.contextmanager
def _transaction(file: Path) -> Iterator[sqlite3.Connection]:
    """Open the database; raises OSError or sqlite3.Error. A damaged file is deleted."""
    if not file.is_absolute():  # without a home, a folder could supply its own results
        raise FileNotFoundError(file)
    make_private_folder(file.parent)
    ensure_private_file(file)
    database = sqlite3.connect(file, timeout=_WAIT_SECONDS)
    try:
        with database:
            database.execute(_TABLE)
            yield database
    except sqlite3.OperationalError:  # such as a locked file
        raise
    except sqlite3.DatabaseError:
        file.unlink()
        raise
    finally:
        database.close()


@lru_cache(maxsize=1)
def _installation() -> tuple[str, ...]:
    """Return what identifies the installed versions of Python, promptls and all other packages."""
    newest = max(
        Path(folder, name).stat().st_mtime_ns
        for folder, folders, names in os.walk(Path(__file__).parents[1])
        if not folder.endswith("__pycache__")
        for name in names
    )
    packages = (folder_changed(path) for path in sys.path if path.endswith("-packages"))
    return sys.version, str(newest), *map(str, packages)


def stored_result(reads: Reads, result: FileResult, began: float) -> StoredResult | None:
    """Return a result with the digests of all answers; None if an answer cannot be compared later.

    `began` is when the check of the file began, in seconds since the epoch.
    """
    questions = []
    for question, answer in reads.answers.items():
        name = name_of(question.ask)
        try:
            digest = _answer_digest(question, answer)
        except TypeError:
            return None
        if name not in QUESTIONS or not _is_settled(question, answer, int(began * 1e9) - _SETTLED_NS):
            return None
        arguments = [
            os.fspath(each) if isinstance(each, os.PathLike) else each for each in question.arguments
        ]
        questions.append((name, arguments, digest))
    return StoredResult(json.dumps(questions), _results().dump_json(result).decode())


def _is_settled(question: Question, answer: object, before: int) -> bool:
    """Return whether a file or folder was last changed `before` a time, and is still as it was read."""
    path = str(question.arguments[0]) if question.arguments else ""
    if answer is None:
        return True
    if question.ask in _FILE_QUESTIONS:  # without a stamp, the file is open in an editor
        return isinstance(answer, Stamp) and answer.changed < before and stamp_of(path) == answer
    if question.ask is folder_changed_again:
        return isinstance(answer, int) and answer < before and folder_changed(path) == answer
    return True


def valid_result(snapshot: Snapshot, stored: StoredResult) -> FileResult | None:
    """Return the stored result if all answers are the same for the snapshot, or None."""
    try:
        for name, arguments, digest in json.loads(stored.questions):
            values = tuple(tuple(each) if isinstance(each, list) else each for each in arguments)
            if name not in QUESTIONS and name.startswith("promptls."):
                import_module(name.partition(":")[0])
            question = Question(QUESTIONS[name], values)
            if _answer_digest(question, question.ask(snapshot, *values)) != digest:
                return None
        return _results().validate_json(stored.result)
    except (ImportError, LookupError, TypeError, ValueError):
        return None


@lru_cache(maxsize=1)
def _results() -> TypeAdapter[FileResult]:
    return TypeAdapter(FileResult)


def _answer_digest(question: Question, answer: object) -> str:
    """Return a digest of an answer; raises TypeError for values of unknown types.

    The state of a file or folder is replaced by the content.
    """
    path: Any = question.arguments[0] if question.arguments else ""
    if answer is not None and question.ask in _FILE_QUESTIONS:
        return _content_digest(str(path), answer)
    if answer is not None and question.ask is folder_changed_again:
        return _digest("\0".join(names_in(path)).encode("utf-8", "surrogatepass"))
    return _digest(_canonical(answer).encode("utf-8", "surrogatepass"))


@lru_cache(maxsize=4096)
def _content_digest(path: str, _stamp: object) -> str:
    try:
        return _digest(read_bytes(path))
    except OSError as error:
        raise TypeError(path) from error


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()[:32]


def _canonical(value: object) -> str:
    """Return a text that is equal for equal values; raises TypeError for unknown types."""
    if value is None or isinstance(value, str | int | float | Path | Enum):
        return repr(value)
    if isinstance(value, BaseModel):
        return f"{type(value).__name__}({_canonical(dict(value))})"
    if isinstance(value, Mapping):
        return _canonical({(key, _canonical(its)) for key, its in value.items()})
    if isinstance(value, set | frozenset):
        return f"{{{', '.join(sorted(map(_canonical, value)))}}}"
    if isinstance(value, tuple | list):
        return f"({', '.join(map(_canonical, value))})"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = (_canonical(getattr(value, field.name)) for field in dataclasses.fields(value))
        return f"{type(value).__name__}({', '.join(fields)})"
    raise TypeError(type(value).__name__)
