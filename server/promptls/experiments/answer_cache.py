"""Answers that were paid for once: by model, parameters, messages, schema and repeat.

Kept in `experiments/.cache/answers.sqlite`, beside the messages of each answer, so that a run can show what
was sent after the prompt has changed. Deleting the folder costs nothing but answers. Several processes may
use it at once. What cannot be kept is not kept: a run goes on without its cache.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from promptls.models.model import Completion
from promptls.models.openai_compatible import without_secrets
from promptls.models.providers import TABLE
from promptls.models.reference import ModelReference

FOLDER = ".cache"
FILE = "answers.sqlite"

# Days after which an answer is forgotten.
KEPT_DAYS = 90

# Seconds that one process waits for another that is writing.
BUSY_SECONDS = 2.0

_TABLES = """
CREATE TABLE IF NOT EXISTS answers (key BLOB PRIMARY KEY, completion TEXT NOT NULL, made REAL NOT NULL)
WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS prompts (digest TEXT PRIMARY KEY, messages BLOB NOT NULL, made REAL NOT NULL)
WITHOUT ROWID;
"""


class AnswerCache:
    """The open cache of a results' folder; one that cannot be opened knows no answer, and keeps none.

    With `since`, in seconds of the system's clock, it knows only answers that were given then or later; new
    ones take the place of older ones.
    """

    def __init__(self, folder: Path, *, since: float | None = None) -> None:
        self.path = folder / FOLDER / FILE
        self.since = since
        self._connection = _connected(self.path)

    def get(self, key: bytes) -> Completion | None:
        """The answer that was kept under `key`."""
        rows = self._ask(
            "SELECT completion FROM answers WHERE key = ? AND made >= ?", (key, self.since or 0.0)
        )
        if not rows:
            return None
        try:
            return Completion(**json.loads(rows[0][0]))
        except (ValueError, TypeError):
            return None

    def put(
        self, key: bytes, completion: Completion, digest: str, messages: Sequence[Mapping[str, Any]]
    ) -> None:
        """The answer is kept, and the messages that it was given to, under their `digest`."""
        text = json.dumps(asdict(completion), ensure_ascii=False)
        packed = zlib.compress(json.dumps(list(messages), ensure_ascii=False, default=str).encode(
            "utf-8", "surrogatepass"
        ), 1)  # fmt: skip
        now = time.time()
        if self._connection is None:
            return
        try:
            with self._connection:
                self._connection.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?)", (key, text, now))
                self._connection.execute(
                    "INSERT OR IGNORE INTO prompts VALUES (?, ?, ?)", (digest, packed, now)
                )
        except (sqlite3.Error, UnicodeError):
            # A full disk is told of where the results are written.
            self.close()

    def messages(self, digest: str) -> list[dict[str, Any]] | None:
        """The messages of this digest, as they were sent; None where they are not known."""
        rows = self._ask("SELECT messages FROM prompts WHERE digest = ?", (digest,))
        if not rows:
            return None
        try:
            found = json.loads(zlib.decompress(rows[0][0]).decode("utf-8", "surrogatepass"))
        except (ValueError, zlib.error):
            return None
        return found if isinstance(found, list) else None

    def sync(self) -> None:
        """What was kept so far survives a power cut; another thread may ask for it."""
        with contextlib.suppress(OSError), self.path.with_name(f"{FILE}-wal").open("r+b") as log:
            os.fsync(log.fileno())

    def close(self) -> None:
        """The file is closed."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(sqlite3.Error):
                connection.close()

    def _ask(self, query: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        if self._connection is None:
            return []
        try:
            return self._connection.execute(query, values).fetchall()
        except sqlite3.Error:
            return []


def is_worth_keeping(reference: ModelReference) -> bool:
    """Whether answers of the model take time or money."""
    return TABLE[reference.provider].route not in {"echo", "replay"}


def key_prefix(
    reference: ModelReference, parameters: Mapping[str, Any], schema: Mapping[str, Any] | None
) -> bytes:
    """What the keys of all answers that are asked for in one way begin with."""
    named = [
        reference.provider,
        reference.model,
        without_secrets(reference.base_url) if reference.base_url else None,
        _state_of(reference),
        dict(parameters),
        schema,
    ]
    return hashlib.sha256(json.dumps(named, sort_keys=True, default=str).encode()).digest()


def answer_key(prefix: bytes, messages: Iterable[Mapping[str, Any]], repeat: int) -> bytes:
    """The key of one answer; each repeat has its own, so none is served from another's answer."""
    canonical = json.dumps([list(messages), repeat], sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(prefix + canonical.encode("utf-8", "surrogatepass")).digest()


def _state_of(reference: ModelReference) -> list[int] | None:
    """Time and size of weights in a file, which may be another model under the same name tomorrow."""
    path = Path(reference.model)
    if TABLE[reference.provider].route != "local" or not path.is_absolute():
        return None
    try:
        state = path.stat()
    except OSError:
        return None
    return [state.st_mtime_ns, state.st_size]


def _connected(path: Path) -> sqlite3.Connection | None:
    try:
        return _opened(path)
    except (OSError, sqlite3.OperationalError):
        return None
    except sqlite3.DatabaseError:
        # What is there is no database: another one takes its place.
        with contextlib.suppress(OSError, sqlite3.Error):
            path.unlink()
            return _opened(path)
        return None


def _opened(path: Path) -> sqlite3.Connection:
    make_cache_folder(path.parent)
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS)
    try:
        # An answer survives the death of the process at once; a power cut may take those since `sync`.
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.executescript(_TABLES)
        oldest = time.time() - KEPT_DAYS * 86400
        with connection:
            connection.execute("DELETE FROM answers WHERE made < ?", (oldest,))
            connection.execute("DELETE FROM prompts WHERE made < ?", (oldest,))
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def make_cache_folder(folder: Path) -> None:
    """The folder is there, and git leaves it alone; raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    ignored = folder / ".gitignore"
    if not ignored.exists():
        ignored.write_text("*\n", encoding="utf-8")
