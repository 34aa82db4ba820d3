"""Unfinished runs: every result is stored in the results folder's store immediately.

When a run finishes, its table and manifest are written from the store and it is removed; a run that is
cancelled or killed remains, and can be resumed. It is identified by its path: that of its table, without the
extension. Only one process at a time can work on a run.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from promptls.experiments.answer_cache import CallInFlight
from promptls.experiments.scores import RowResult
from promptls.experiments.store import (
    FILE,
    FOLDER,
    READ_SECONDS,
    RUN_SECONDS,
    Store,
    is_damage,
    message_of,
    remedy_of,
    store_exists,
)
from promptls.security.files import is_file
from promptls.text.errors import FilePlace, UsageError, UserError
from promptls.text.filenames import MAX_BYTES, file_name_problem

Header: TypeAlias = dict[str, Any]
"""The manifest of a run before its first row, without results."""


class UnwrittenError(UserError):
    """A result could not be written; the run can be resumed."""


class UnfinishedRun:
    """A run that this process has claimed."""

    def __init__(self, store: Store, folder: Path, run: int, header: Header) -> None:
        self.store = store
        self.header = header
        self.path = folder / str(header["run"])
        self._run = run
        self._models = {str(model["name"]): index for index, model in enumerate(header["models"])}
        store.wait(RUN_SECONDS)
        (self.count,) = store.query("SELECT count(*) FROM results WHERE run = ?", (run,)).fetchone()

    @property
    def name(self) -> str:
        """The name of the run: `20261121-143000-triage_v2`."""
        return self.path.name

    @property
    def calls_in_flight(self) -> list[CallInFlight]:
        """The calls that were started, and whose results are missing."""
        rows = self.store.query(
            "SELECT call, number, model, repeat FROM calls WHERE run = ? ORDER BY rowid", (self._run,)
        )
        return [self._call(*row) for row in rows]

    def _call(self, call: str, number: int, model: int, repeat: int) -> CallInFlight:
        try:
            return CallInFlight.from_json(json.loads(call))
        except (ValueError, TypeError):
            # The entry is damaged, but it still proves that the call was made.
            name = next((name for name, index in self._models.items() if index == model), "")
            return CallInFlight(number, name, repeat, name, "")

    def forget_damaged(self) -> None:
        """Remove damaged results, so that they are requested again."""
        rows = self.store.query("SELECT id, result FROM results WHERE run = ?", (self._run,)).fetchall()
        damaged = [(number,) for number, result in rows if not _is_readable(result)]
        with self._explained():
            for number in damaged:
                self.store.query("DELETE FROM results WHERE id = ?", number)
        self.count -= len(damaged)

    def note_call(self, number: int, model: str, repeat: int, called_model: str, key: bytes | None) -> None:
        """Record that this call is about to be made; raises `UserError` if that fails.

        `called_model` is the model or a judge of its answer, and `key` the cache key of the answer.
        """
        call = CallInFlight(number, model, repeat, called_model, key.hex() if key else "")
        with self._explained():
            self.store.query(
                "INSERT INTO calls VALUES (?, ?, ?, ?, ?)",
                (self._run, *self._place(number, model, repeat), json.dumps(call)),
            )

    def append(self, result: RowResult) -> None:
        """Store the result, replacing an earlier one; raises `UserError` if that fails."""
        state = "failed" if result.error is not None else "unscored" if result.unscored else "good"
        text = json.dumps(result.to_json(), ensure_ascii=False, default=str).encode("utf-8", "surrogatepass")
        place = (self._run, *self._place(result.number, result.model, result.repeat))
        with self._explained(), self.store.transaction():
            replaced = self.store.query(f"DELETE FROM results WHERE {_OF_RESULT}", place)  # noqa: S608 - a constant
            # The identifier increases with every write, which `RunFollower` relies on.
            self.store.query(
                "INSERT INTO results (run, number, model, repeat, state, result) VALUES (?, ?, ?, ?, ?, ?)",
                (*place, state, text),
            )
            self.store.query(f"DELETE FROM calls WHERE {_OF_RESULT}", place)  # noqa: S608 - a constant
        self.count += 1 - replaced.rowcount

    def has_answer(self, number: int, model: str, repeat: int) -> bool:
        """Return whether there is a result without an error and with all of its scores."""
        return self._result("good", number, model, repeat) is not None

    def unscored(self, number: int, model: str, repeat: int) -> RowResult | None:
        """Return the result if it has a response but lacks scores."""
        found = self._result("unscored", number, model, repeat)
        return None if found is None else RowResult.from_json(json.loads(found))

    def forget_failed(self) -> None:
        """Remove results with an error, so that they are requested again."""
        with self._explained():
            removed = self.store.query("DELETE FROM results WHERE run = ? AND state = 'failed'", (self._run,))
        self.count -= removed.rowcount

    def results(self) -> Iterator[RowResult]:
        """Yield every result, by row, then in the order of the models, then by repeat."""
        rows = self.store.query(
            "SELECT result FROM results WHERE run = ? ORDER BY number, model, repeat", (self._run,)
        )
        return (RowResult.from_json(json.loads(result)) for (result,) in rows)

    def close(self) -> None:
        """Release the run, so that it can be resumed."""
        self.store.close()

    def remove(self) -> None:
        """Remove the run from the store, after its table and manifest were written."""
        with contextlib.suppress(sqlite3.Error):
            self.store.query("DELETE FROM runs WHERE id = ?", (self._run,))
            self.store.vacuum()
        self.store.close()

    def unwritten(self, error: sqlite3.Error | OSError) -> UnwrittenError:
        """Return the error for a failed write."""
        remedy = remedy_of(error)
        if not is_damage(error):
            remedy += f", and continue with `promptls run --resume {self.name}`; "
            remedy += f"the {self.count} finished rows are saved"
        return UnwrittenError(
            f"the results cannot be written: {message_of(error)}",
            FilePlace(getattr(error, "filename", None) or self.store.path),
            remedy,
        )

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            self.store.wait(0)  # the run ends, and what other tasks write is tried once
            raise self.unwritten(error) from None

    def _place(self, number: int, model: str, repeat: int) -> tuple[int, int, int]:
        return number, self._models.get(model, len(self._models)), repeat

    def _result(self, state: str, number: int, model: str, repeat: int) -> bytes | None:
        found = self.store.query(
            f"SELECT result FROM results WHERE {_OF_RESULT} AND state = ?",  # noqa: S608 - a constant
            (self._run, *self._place(number, model, repeat), state),
        ).fetchone()
        return None if found is None else bytes(found[0])


def _is_readable(result: bytes) -> bool:
    try:
        RowResult.from_json(json.loads(result))
    except (LookupError, TypeError, ValueError, AttributeError):
        return False
    return True


_OF_RESULT = "run = ? AND number = ? AND model = ? AND repeat = ?"


class RunState(NamedTuple):
    """An unfinished run: `done` results are stored; `is_running` is set if a process works on it.

    The header is empty if it is damaged.
    """

    path: Path
    header: Header
    done: int
    is_running: bool


def planned_results(header: Header) -> int | None:
    """Return the planned number of results."""
    try:
        rows, repeats = header["rendered"]["rows"], header["settings"]["repeats"]
        return int(rows) * len(header["models"]) * int(repeats)
    except (LookupError, TypeError, ValueError):
        return None


def create_run(folder: Path, stem: str, now: datetime, header: Mapping[str, Any]) -> UnfinishedRun:
    """Start a run `<YYYYMMDD-HHMMSS>-<stem>`, under a name that is unique in `folder`.

    Runs that start in the same second get different names.
    """
    begin = f"{now:%Y%m%d-%H%M%S}-{stem}"
    try:
        store = Store(folder)
        try:
            for attempt in range(1, 1000):
                name = begin if attempt == 1 else f"{begin}-{attempt}"
                if any((folder / f"{name}{suffix}").exists() for suffix in (".csv", ".json")):
                    continue
                named = {**header, "run": name}
                created = store.query(
                    "INSERT OR IGNORE INTO runs (name, header, owner) VALUES (?, ?, ?)",
                    (name, json.dumps(named, default=str).encode(), store.owner),
                )
                if created.rowcount and created.lastrowid is not None:
                    return UnfinishedRun(store, folder, created.lastrowid, named)
        except BaseException:
            store.close()
            raise
    except (OSError, sqlite3.Error) as error:
        raise UserError(
            f"the results cannot be written: {message_of(error)}",
            FilePlace(
                getattr(error, "filename", None) or (folder / FOLDER / FILE if is_damage(error) else folder)
            ),
            remedy_of(error),
        ) from None
    raise UserError("a thousand runs began in this second", FilePlace(folder), "run again")


def reopen_run(path: Path) -> UnfinishedRun:
    """Claim an unfinished run; raises `UsageError` while another process works on it."""
    try:
        store = Store(path.parent)
        try:
            with store.transaction():
                run, header, owner = _row(store, path)
                _check_idle(store, owner, path)
                store.query("UPDATE runs SET owner = ? WHERE id = ?", (store.owner, run))
            reopened = UnfinishedRun(store, path.parent, run, header)
            reopened.forget_damaged()
        except BaseException:
            store.close()
            raise
        else:
            return reopened
    except (OSError, sqlite3.Error) as error:
        raise UsageError(
            f"the run cannot be resumed: {message_of(error)}", FilePlace(path), remedy_of(error)
        ) from None


def _check_idle(store: Store, owner: str, path: Path) -> None:
    if store.is_alive(owner):
        raise UsageError("this run is active in another process", FilePlace(path), "wait until it ends")


@contextlib.contextmanager
def _readable_store(folder: Path) -> Iterator[Store | None]:
    """Open the store of a results folder; yield None if there is none or it cannot be read."""
    store = None
    if store_exists(folder):
        with contextlib.suppress(UserError, OSError, sqlite3.Error):
            store = Store(folder, READ_SECONDS)
    try:
        yield store
    finally:
        if store is not None:
            store.close()


def unfinished_runs(folder: Path) -> list[RunState]:
    """Return the unfinished runs of a results folder by name; empty if its store cannot be read."""
    with _readable_store(folder) as store, contextlib.suppress(sqlite3.Error, ValueError, TypeError):
        if store is not None:
            rows = store.query(
                "SELECT name, header, owner, (SELECT count(*) FROM results WHERE run = runs.id) FROM runs "
                "WHERE length(header) <= ? ORDER BY name",
                (MAX_BYTES,),
            ).fetchall()
            return [
                RunState(folder / name, _header(header) or {}, done, store.is_alive(owner))
                for name, header, owner, done in rows
                # A run that was killed after writing its last file has finished.
                if file_name_problem(name) is None and not is_file(folder / f"{name}.json")
            ]
    return []


def read_header(path: Path) -> Header:
    """Return the header of an unfinished run; raises `UsageError` if there is no such run."""
    store = Store(path.parent)
    try:
        return _row(store, path)[1]
    finally:
        store.close()


class RunFollower:
    """Reads the results of a run that another process works on; not thread-safe."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._last = 0

    def new_results(self) -> tuple[Header | None, list[RowResult]]:
        """Return the header and the results since the last call; empty if the run no longer exists."""
        with _readable_store(self._path.parent) as store:
            if store is None:
                return None, []
            try:
                run, header, _ = _row(store, self._path)
                rows = store.query(
                    "SELECT id, result FROM results WHERE run = ? AND id > ? ORDER BY id", (run, self._last)
                ).fetchall()
            except (UsageError, sqlite3.Error):
                return None, []
        self._last = max((number for number, _ in rows), default=self._last)
        return header, [RowResult.from_json(json.loads(result)) for _, result in rows]


def _row(store: Store, path: Path) -> tuple[int, Header, str]:
    found: Sequence[Any] | None = store.query(
        "SELECT id, header, owner FROM runs WHERE name = ? AND length(header) <= ?", (path.name, MAX_BYTES)
    ).fetchone()
    if found is None:
        raise UsageError("there is no such unfinished run", FilePlace(path))
    header = _header(found[1])
    if header is None or header.get("run") != path.name:
        raise UsageError(
            "the run cannot be resumed: its stored data is damaged",
            FilePlace(path),
            "run the experiment again; answers that can be read are in the cache",
        )
    return found[0], header, str(found[2])


def _header(text: bytes) -> Header | None:
    try:
        header = json.loads(text)
    except ValueError:
        return None
    return header if isinstance(header, dict) else None
