"""A set of keys that grows on disk, so that no number of rows fills the memory."""

from __future__ import annotations

import contextlib
import sqlite3


class SeenKeys:
    """Keys that were seen; where no disk takes them, all of them stay in memory."""

    def __init__(self) -> None:
        self._in_memory: set[bytes] = set()
        self._connection: sqlite3.Connection | None = None
        with contextlib.suppress(sqlite3.Error):
            # A database without a name is a file of the system's that ends with the connection.
            self._connection = sqlite3.connect("", isolation_level=None)
            self._connection.execute("PRAGMA journal_mode = OFF")
            self._connection.execute("PRAGMA synchronous = OFF")
            self._connection.execute("CREATE TABLE seen (key BLOB PRIMARY KEY) WITHOUT ROWID")
            self._connection.execute("BEGIN")

    def is_new(self, key: bytes) -> bool:
        """Whether the key was not seen before; from now on it was."""
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                return bool(
                    self._connection.execute("INSERT OR IGNORE INTO seen VALUES (?)", (key,)).rowcount
                )
        if key in self._in_memory:
            return False
        self._in_memory.add(key)
        return True

    def close(self) -> None:
        """The file is gone."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
