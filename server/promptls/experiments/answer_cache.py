"""The cache of answers, by model, parameters, messages, schema and repeat, and calls in flight.

Answers are in the store of the results folder, with their messages, so that a run can show what
was sent even after the prompt has changed. If several processes request the same answer, one of them
makes the call. If the store cannot be written, a run continues without the cache.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import sqlite3
import time
import zlib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from promptls.experiments.store import OPEN_SECONDS, RUN_SECONDS, Store, store_exists
from promptls.models.masking import url_without_secrets
from promptls.models.model import Completion, Messages, ModelReference
from promptls.models.providers import TABLE
from promptls.models.testing import digest_of
from promptls.text.errors import UserError
from promptls.text.format import first_of, in_dollars, plural

MAX_AGE_DAYS: Final = 90
"""Days after which a cached answer expires."""

# Initial and maximum interval in seconds for polling whether another process has received its answer.
_FIRST_LOOK: Final = 0.02
_LATER_LOOKS: Final = 0.25


class AnswerCache:
    """The answers of a results folder; if the store cannot be opened, the cache is empty and stores nothing.

    With `since`, a Unix timestamp, only answers received at that time or later are used; new
    answers replace older ones. Raises `UserError` if the store is damaged.
    """

    def __init__(self, folder: Path, *, since: float | None = None) -> None:
        self.since = since
        self._store: Store | None = None
        with contextlib.suppress(OSError, sqlite3.Error):
            self._store = Store(folder)
            oldest = time.time() - MAX_AGE_DAYS * 86400
            for table in ("answers", "prompts"):
                if self._rows(f"SELECT 1 FROM {table} WHERE made < ? LIMIT 1", (oldest,)):  # noqa: S608 - constants
                    self._store.query(f"DELETE FROM {table} WHERE made < ?", (oldest,))  # noqa: S608 - constants

    @property
    def stores(self) -> list[Store]:
        """The open store; empty if there is none."""
        return [] if self._store is None else [self._store]

    def get(self, key: bytes) -> Completion | None:
        """Return the answer with this key, if any."""
        rows = self._rows(
            "SELECT completion FROM answers WHERE key = ? AND made >= ?", (key, self.since or 0.0)
        )
        try:
            return Completion(**json.loads(rows[0][0])) if rows else None
        except (ValueError, TypeError):
            return None

    def put(self, key: bytes, completion: Completion, messages: Messages) -> None:
        """Store the answer, and the messages that it answers under their `digest_of`."""
        text = json.dumps(asdict(completion), ensure_ascii=False)
        packed = zlib.compress(json.dumps(list(messages), ensure_ascii=False, default=str).encode(
            "utf-8", "surrogatepass"
        ), 1)  # fmt: skip
        now, digest = time.time(), digest_of(messages)
        if self._store is None:
            return
        try:
            self._store.wait(RUN_SECONDS)
            with self._store.transaction():
                self._store.query("INSERT OR REPLACE INTO answers VALUES (?, ?, ?)", (key, text, now))
                self._store.query("INSERT OR IGNORE INTO prompts VALUES (?, ?, ?)", (digest, packed, now))
            self._store.wait(OPEN_SECONDS)
        except (sqlite3.Error, UnicodeError):
            # A full disk is reported when results are written.
            self.close()

    def messages(self, digest: str) -> list[dict[str, Any]] | None:
        """Return the messages with this digest, as they were sent; None if unknown."""
        rows = self._rows("SELECT messages FROM prompts WHERE digest = ?", (digest,))
        try:
            found = json.loads(zlib.decompress(rows[0][0]).decode("utf-8", "surrogatepass")) if rows else None
        except (ValueError, zlib.error):
            return None
        return found if isinstance(found, list) else None

    def claim(self, key: bytes) -> bool:
        """Claim the answer; return False if another live process has claimed it."""
        if self._store is None:
            return True
        store = self._store
        try:
            claim = store.query("SELECT owner FROM claims WHERE key = ?", (key,)).fetchone()
            if claim is not None and store.is_alive(claim[0]):
                return False
            with store.transaction():
                if claim is not None:
                    store.query("DELETE FROM claims WHERE key = ? AND owner = ?", (key, *claim))
                claimed = store.query("INSERT OR IGNORE INTO claims VALUES (?, ?)", (key, store.owner))
        except (OSError, sqlite3.Error):
            return True
        return claimed.rowcount == 1

    def release(self, key: bytes) -> None:
        """Release the claim on the answer."""
        if self._store is not None:
            with contextlib.suppress(OSError, sqlite3.Error):
                self._store.query("DELETE FROM claims WHERE key = ? AND owner = ?", (key, self._store.owner))

    def close(self) -> None:
        """Close the store, which releases all claims."""
        store, self._store = self._store, None
        if store is not None:
            store.close()

    def _rows(self, query: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        if self._store is None:
            return []
        try:
            return self._store.query(query, values).fetchall()
        except sqlite3.Error:
            return []


@contextmanager
def reading_answers(folder: Path) -> Iterator[AnswerCache | None]:
    """Open the answers of a results folder; yield None if it has no store or the store is damaged."""
    cache = None
    if store_exists(folder):
        with contextlib.suppress(UserError):
            cache = AnswerCache(folder)
    try:
        yield cache
    finally:
        if cache is not None:
            cache.close()


class SharedAnswers:
    """Answers from the cache; concurrent requests for the same missing answer share one call.

    Without a `cache`, every answer is requested. If another process requests the same answer, it is waited
    for, but for at most `patience` seconds, as it may have been stopped.
    """

    def __init__(self, cache: AnswerCache | None, patience: float) -> None:
        self._cache = cache
        self._patience = patience
        self._in_flight: dict[bytes, asyncio.Event] = {}

    def has(self, key: bytes | None) -> bool:
        """Return whether the answer is cached; the key None means that it is never cached."""
        return self._cache is not None and key is not None and self._cache.get(key) is not None

    async def answer(
        self,
        key: bytes | None,
        messages: Messages,
        complete: Callable[[], Awaitable[Completion]],
        is_good: Callable[[Completion], bool] = lambda _completion: True,
    ) -> tuple[Completion, bool]:
        """Return the answer to the messages, and whether it was cached; raises the errors of `complete`.

        Cached answers for which `is_good` is false are requested again.
        """
        if key is None or self._cache is None:
            return await complete(), False
        while (other := self._in_flight.get(key)) is not None:
            await other.wait()
        done = self._in_flight[key] = asyncio.Event()
        try:
            await self._claim(key, self._cache)
            # Looked up after claiming, because another process may have stored it by now.
            cached = self._cache.get(key)
            if cached is not None and is_good(cached):
                return cached, True
            completion = await complete()
            # Stored before scoring, so that a paid answer is not lost if a metric fails.
            self._cache.put(key, completion, messages)
            return completion, False
        finally:
            self._cache.release(key)
            del self._in_flight[key]
            done.set()

    async def _claim(self, key: bytes, cache: AnswerCache) -> None:
        """Wait until no other process requests the answer, or until the timeout."""
        give_up = time.monotonic() + self._patience
        look = _FIRST_LOOK
        while not cache.claim(key) and time.monotonic() < give_up:
            await asyncio.sleep(look)
            look = min(2 * look, _LATER_LOOKS)


def is_cacheable(reference: ModelReference) -> bool:
    """Return whether the model's answers take time or money, and so should be cached."""
    return TABLE[reference.provider].route not in {"echo", "replay"}


def key_prefix(
    reference: ModelReference, parameters: Mapping[str, Any], schema: Mapping[str, Any] | None
) -> bytes:
    """Return the common prefix of the keys of all answers with this model, parameters and schema."""
    named = [
        reference.provider,
        reference.model,
        url_without_secrets(reference.base_url) if reference.base_url else None,
        _state_of(reference),
        dict(parameters),
        schema,
    ]
    return hashlib.sha256(json.dumps(named, sort_keys=True, default=str).encode()).digest()


def answer_key(prefix: bytes, messages: Iterable[Mapping[str, Any]], repeat: int) -> bytes:
    """Return the key of an answer; it includes the repeat, so repeats do not share cached answers."""
    canonical = json.dumps([list(messages), repeat], sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(prefix + canonical.encode("utf-8", "surrogatepass")).digest()


def _state_of(reference: ModelReference) -> list[int] | None:
    """Return the modification time and size of a weights file, which may be replaced."""
    path = Path(reference.model)
    if TABLE[reference.provider].route != "local" or not path.is_absolute():
        return None
    try:
        state = path.stat()
    except OSError:
        return None
    return [state.st_mtime_ns, state.st_size]


CallNote: TypeAlias = Callable[[ModelReference, "bytes | None"], None]
"""A callback immediately before a call for a result, with the model and the key of the answer."""

ResultCallNote: TypeAlias = Callable[[int, str, int, str, "bytes | None"], None]
"""The same callback with the result's row number, model and repeat; see `UnfinishedRun.note_call`."""

SKIPPED_ERROR = (
    "the call was in flight when the run was interrupted, and may have been paid for; it was not made again"
)
"""The error of a row whose call is not repeated."""

_SHOWN_ROWS = 8


class CallInFlight(NamedTuple):
    """A call: the row, model and repeat of its result, the called model or judge, and the key."""

    number: int
    model: str
    repeat: int
    called_model: str
    key: str

    @classmethod
    def from_json(cls, value: Sequence[Any]) -> CallInFlight:
        """Deserialize a call from the store; raises TypeError and ValueError if it is invalid."""
        number, model, repeat, called_model, key = value
        bytes.fromhex(str(key))
        return cls(int(number), str(model), int(repeat), str(called_model), str(key))


def call_note(note: ResultCallNote, number: int, model: str, repeat: int) -> CallNote:
    """Return the callback for the calls of one result; it records calls to models on other machines."""

    def notify(reference: ModelReference, key: bytes | None) -> None:
        if TABLE[reference.provider].route not in {"echo", "replay", "local"}:
            note(number, model, repeat, reference.name, key)

    return notify


def calls_without_answer(
    calls: Iterable[CallInFlight], folder: Path, since: float | None = None
) -> tuple[CallInFlight, ...]:
    """Return the `calls` whose answers are not in the cache of the results folder.

    `since` is as in `AnswerCache`.
    """
    calls = tuple(calls)
    if not calls:
        return ()
    cache = AnswerCache(folder, since=since)
    try:
        return tuple(call for call in calls if not call.key or cache.get(bytes.fromhex(call.key)) is None)
    finally:
        cache.close()


def describe_calls_in_flight(
    calls: Sequence[CallInFlight], ids: Mapping[int, str], cost: float | None, *, left: bool
) -> str | None:
    """Return a sentence that lists the calls by the ids of their rows; None if there are none.

    `cost` is their approximate cost in US dollars; `left` means that they are not repeated.
    """
    if not calls:
        return None
    numbers = sorted({call.number for call in calls})
    named = [f"{number} (id {ids[number]})" if number in ids else str(number) for number in numbers]
    rows = first_of(named, _SHOWN_ROWS)
    price = f", about {in_dollars(cost)}" if cost else ""
    was, they, them = ("was", "it is", "it") if len(calls) == 1 else ("were", "they are", "them")
    end = f"{they} left out" if left else f"{they} made again (`--skip-in-flight` leaves {them} out)"
    return (
        f"{plural(len(calls), 'call')} {was} in flight when the run was interrupted, and may have been paid "
        f"for{price}: row{'s' if len(numbers) > 1 else ''} {rows}; {end}"
    )
