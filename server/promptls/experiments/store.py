"""The SQLite file of a results folder: answers and unfinished runs.

It is `experiments/.cache/results.sqlite`, in WAL mode, and can be used by several processes concurrently,
any of which may be killed at any time. Table (CSV) and manifest (JSON) of a finished run are published
next to it and do not depend on it.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import re
import sqlite3
import time
import uuid
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, Final

from promptls.security.files import OutsideScopeError, current_scope, is_file
from promptls.security.written_files import ensure_private_file, make_private_folder, open_private
from promptls.text.errors import FilePlace, UserError

FOLDER: Final = ".cache"
FILE: Final = "results.sqlite"
LOCK_SUFFIX: Final = ".lock"
FORMAT: Final = 2
OPEN_SECONDS: Final = 2.0
"""Timeout in seconds for waiting for another process that is writing."""
RUN_SECONDS: Final = 10.0
"""The same for a run in progress, which has paid for the answers that it writes."""
READ_SECONDS: Final = 0.1
"""The same for readers: usually, writers do not block them."""
SYNC_SECONDS: Final = 1.0
_OWNER: Final = re.compile(r"[0-9a-f]{32}")
_APPLICATION: Final = 0x70726C73  # "prls"
_TABLES: Final = """
CREATE TABLE answers (key BLOB PRIMARY KEY, completion TEXT NOT NULL, made REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE prompts (digest TEXT PRIMARY KEY, messages BLOB NOT NULL, made REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE claims (key BLOB PRIMARY KEY, owner TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE runs (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, header BLOB NOT NULL, owner TEXT NOT NULL
);
CREATE TABLE results (
  id INTEGER PRIMARY KEY AUTOINCREMENT, run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
  number INTEGER NOT NULL, model INTEGER NOT NULL, repeat INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('good', 'failed', 'unscored')), result BLOB NOT NULL,
  UNIQUE (run, number, model, repeat)
);
CREATE TABLE calls (
  run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
  number INTEGER NOT NULL, model INTEGER NOT NULL, repeat INTEGER NOT NULL, call TEXT NOT NULL
);
CREATE INDEX calls_of_result ON calls (run, number, model, repeat);
"""


class Store:
    """An open connection; belongs to one thread.

    Raises `UserError` if the file is damaged or belongs to another program, OSError and
    `sqlite3.OperationalError` if it cannot be created or opened.
    """

    def __init__(self, folder: Path, seconds: float | None = None) -> None:
        """Open the store of the results folder, and create it if it is missing.

        `seconds` is how long to wait for other processes, by default `OPEN_SECONDS`.
        """
        self.path = folder / FOLDER / FILE
        self._owner: _Owner | None = None
        if current_scope().resolve(folder) is None:
            raise OutsideScopeError(folder)
        make_cache_folder(self.path.parent)
        ensure_private_file(self.path)
        for suffix in ("-wal", "-shm", "-journal"):
            if (side := self.path.with_name(f"{FILE}{suffix}")).is_symlink():
                raise OSError(f"`{side}` is a symbolic link")
        self._connection = _connect(self.path, OPEN_SECONDS if seconds is None else seconds)

    def query(self, sql: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        """Execute a statement; outside `transaction`, it is a transaction by itself."""
        return self._connection.execute(sql, values)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run the block as a transaction, which is committed at its end."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            # After some errors, such as a full disk, SQLite has already rolled back.
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            raise

    def wait(self, seconds: float) -> None:
        """Set how long to wait for other processes from now on."""
        self._connection.execute(f"PRAGMA busy_timeout = {round(1000 * seconds)}")

    @property
    def owner(self) -> str:
        """The name under which this store claims calls and runs; other processes can check its liveness."""
        if self._owner is None:
            self._remove_dead_locks()
            self._owner = _Owner(self.path.parent)
        return self._owner.name

    def is_alive(self, owner: str) -> bool:
        """Return whether the process with this owner name still has its store open."""
        return _OWNER.fullmatch(owner) is not None and _is_locked(
            self.path.with_name(f"{owner}{LOCK_SUFFIX}")
        )

    def sync(self) -> None:
        """Flush writes to disk, so that they survive a power failure; may be called from any thread."""
        with contextlib.suppress(OSError), self.path.with_name(f"{FILE}-wal").open("r+b") as log:
            os.fsync(log.fileno())

    def vacuum(self) -> None:
        """Return the space of deleted rows to the file system."""
        with contextlib.suppress(sqlite3.Error):
            self._connection.execute("PRAGMA incremental_vacuum").fetchall()

    def close(self) -> None:
        """Close the file and release all claims."""
        with contextlib.suppress(sqlite3.Error):
            if self._owner is not None:
                self.wait(0)  # claims of an owner that is gone are ignored
                self.query("DELETE FROM claims WHERE owner = ?", (self._owner.name,))
            self._connection.close()
        if self._owner is not None:
            self._owner.close()
            self._owner = None

    def _remove_dead_locks(self) -> None:
        """Remove lock files of killed processes; files younger than a minute may not be locked yet."""
        before = time.time() - 60
        for path in self.path.parent.glob(f"*{LOCK_SUFFIX}"):
            with contextlib.suppress(OSError):
                if path.lstat().st_mtime < before and not _is_locked(path):
                    path.unlink()


def store_exists(folder: Path) -> bool:
    """Return whether the results folder has a store."""
    return is_file(folder / FOLDER / FILE)


def message_of(error: sqlite3.Error | OSError) -> str:
    """Return the reason of a failed write, for use within a sentence."""
    if isinstance(error, OSError):
        return (error.strerror or str(error)).lower()
    if "full" in str(error):
        return "no space left on device"
    return f"another program has locked `{FOLDER}/{FILE}`" if "locked" in str(error) else str(error)


_IF_DAMAGED: Final = (
    "move it away, and another is created: finished runs are in their CSV files, and are not affected"
)


def is_damage(error: Exception) -> bool:
    """Return whether an error means that the file is damaged, for example after a power failure."""
    return type(error) is sqlite3.DatabaseError


def remedy_of(error: sqlite3.Error | OSError) -> str:
    """Return what makes the write that failed possible."""
    if is_damage(error):
        return _IF_DAMAGED
    if "locked" in str(error):
        return "close it in that program"
    if isinstance(error, OSError) and error.errno == errno.EINVAL:
        return "move it away"
    return "make the folder writable, or free some space"


@asynccontextmanager
async def sync_periodically(*stores: Store, every: float = SYNC_SECONDS) -> AsyncIterator[None]:
    """Call `sync` of the stores periodically while the block runs.

    A killed process does not lose anything that it has written. Only a power failure can lose data that the
    system has not flushed yet; flushing after each row would slow down the run.
    """

    async def sync() -> None:
        while True:
            await asyncio.sleep(every)
            for store in stores:
                await asyncio.to_thread(store.sync)

    syncing = asyncio.create_task(sync())
    try:
        yield
    finally:
        syncing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await syncing


def make_cache_folder(folder: Path) -> None:
    """Create the folder, with a `.gitignore`; raises OSError, also if it is a symbolic link."""
    make_private_folder(folder)
    if folder.is_symlink():
        raise OSError(f"`{folder}` is a symbolic link")
    ignored = folder / ".gitignore"
    if not ignored.exists():
        with open_private(ignored, "w", encoding="utf-8") as stream:
            stream.write("*\n")


class _Owner:
    """A file that is locked while this process runs; the system releases the lock when the process exits."""

    def __init__(self, folder: Path) -> None:
        self.name = uuid.uuid4().hex
        self._path = folder / f"{self.name}{LOCK_SUFFIX}"
        self._stream = open_private(self._path, "xb")
        _lock(self._stream)

    def close(self) -> None:
        # Windows cannot remove open files.
        with contextlib.suppress(PermissionError):
            self._path.unlink(missing_ok=True)
        self._stream.close()
        self._path.unlink(missing_ok=True)


def _is_locked(path: Path) -> bool:
    try:
        with path.open("r+b", buffering=0) as stream:
            return not _lock(stream)
    except OSError:
        return False


def _lock(stream: IO[bytes]) -> bool:
    """Lock the file for this process; return False if another process has locked it."""
    import portalocker

    try:
        portalocker.lock(stream, portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING)
    except portalocker.AlreadyLocked:
        return False
    except portalocker.LockException:
        # A file system without locks must not prevent a run.
        return True
    return True


def _connect(path: Path, seconds: float) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=seconds, isolation_level=None)
    try:
        _prepare(connection, path)
    except sqlite3.OperationalError:
        connection.close()
        raise
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        connection.close()
        # A message of SQLite that quotes damaged text cannot be decoded.
        why = "it is damaged" if isinstance(error, UnicodeDecodeError) else str(error)
        raise _foreign(path, why) from None
    except UserError:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("PRAGMA trusted_schema = OFF")
    # The order matters: another process may be creating the tables in a transaction at this moment.
    is_empty = connection.execute("SELECT 1 FROM sqlite_master").fetchone() is None
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application == 0 and is_empty:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        _use_write_ahead_log(connection)
        connection.execute("BEGIN IMMEDIATE")
        if connection.execute("SELECT 1 FROM sqlite_master").fetchone() is None:
            for statement in _TABLES.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(f"PRAGMA user_version = {FORMAT}")
        connection.execute("COMMIT")
    elif application != _APPLICATION:
        raise _foreign(path, "another program has written it")
    elif version != FORMAT:
        raise _foreign(path, "another version of promptls has written it")
    else:
        connection.execute("DROP TABLE IF EXISTS finished")  # earlier versions listed finished runs here
        if _schema(connection) != _own_schema():
            # Views or triggers of an untrusted file could run forever, or forge answers.
            raise _foreign(path, "its tables are not those of promptls")
    # Commits survive the process's death immediately; a power failure may lose those since the last `sync`.
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA foreign_keys = ON")


def _schema(connection: sqlite3.Connection) -> list[tuple[Any, ...]]:
    return connection.execute("SELECT type, name, sql FROM sqlite_master ORDER BY name").fetchall()


@lru_cache(maxsize=1)
def _own_schema() -> list[tuple[Any, ...]]:
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(_TABLES)
        return _schema(connection)


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    give_up = time.monotonic() + OPEN_SECONDS
    # SQLite does not wait here if another process does the same.
    while not _has_write_ahead_log(connection, is_last=time.monotonic() > give_up):
        time.sleep(0.02)


def _has_write_ahead_log(connection: sqlite3.Connection, *, is_last: bool) -> bool:
    try:
        connection.execute("PRAGMA journal_mode = WAL")
    except sqlite3.OperationalError as error:
        if is_last or "locked" not in str(error):
            raise
        return False
    return True


def _foreign(path: Path, why: str) -> UserError:
    return UserError(
        f"the file of answers and unfinished runs cannot be used: {why}",
        FilePlace(path),
        _IF_DAMAGED,
    )
