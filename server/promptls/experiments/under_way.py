"""Calls that were on their way when a run broke off: nobody knows whether they were paid for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from promptls.experiments.answer_cache import AnswerCache
from promptls.models.model import ModelReference
from promptls.models.providers import TABLE
from promptls.text.format import in_dollars, plural

CallNote: TypeAlias = Callable[[ModelReference, "bytes | None"], None]
"""Told right before a call is made for a result: the model that is asked, and the key of its answer."""

ResultCallNote: TypeAlias = Callable[[int, str, int, str, "bytes | None"], None]
"""The same with the row's number, the model and the repeat of the result, as `Journal.note_call` takes it."""

LEFT_ERROR = (
    "the call was under way when the run broke off, and may have been paid for; it was not made again"
)
"""The error of a row whose call is not made a second time."""

_SHOWN_ROWS = 8


class CallUnderWay(NamedTuple):
    """One call: the row, model and repeat of its result, who was asked (a judge, perhaps), and the key."""

    number: int
    model: str
    repeat: int
    asked: str
    key: str

    @classmethod
    def from_json(cls, value: Sequence[Any]) -> CallUnderWay:
        """Return the call that a journal holds; raises TypeError and ValueError for what is none."""
        number, model, repeat, asked, key = value
        return cls(int(number), str(model), int(repeat), str(asked), str(key))


def call_note(note: ResultCallNote, number: int, model: str, repeat: int) -> CallNote:
    """Return what is told of the calls for one result: those that leave this machine are noted."""

    def tell(asked: ModelReference, key: bytes | None) -> None:
        if TABLE[asked.provider].route not in {"echo", "replay", "local"}:
            note(number, model, repeat, asked.name, key)

    return tell


def unsure_calls(
    calls: Iterable[CallUnderWay], folder: Path, since: float | None = None
) -> tuple[CallUnderWay, ...]:
    """Return those of `calls` whose answers are not in the cache of the results' folder.

    `since` is as there.
    """
    calls = tuple(calls)
    if not calls:
        return ()
    cache = AnswerCache(folder, since=since)
    try:
        return tuple(call for call in calls if not call.key or cache.get(bytes.fromhex(call.key)) is None)
    finally:
        cache.close()


def unsure_words(
    calls: Sequence[CallUnderWay], ids: Mapping[int, str], cost: float | None, *, left: bool
) -> str | None:
    """Return one sentence that names the calls by the ids of their rows; None if there are none.

    `cost` is about what they took, in US dollars; `left` says that they are not made again.
    """
    if not calls:
        return None
    numbers = sorted({call.number for call in calls})
    named = [f"{number} (id {ids[number]})" if number in ids else str(number) for number in numbers]
    more = f" and {len(named) - _SHOWN_ROWS} more" if len(named) > _SHOWN_ROWS else ""
    rows = ", ".join(named[:_SHOWN_ROWS]) + more
    price = f", about {in_dollars(cost)}" if cost else ""
    was, they, them = ("was", "it is", "it") if len(calls) == 1 else ("were", "they are", "them")
    end = f"{they} left out" if left else f"{they} made again (`--leave-unsure` leaves {them} out)"
    return (
        f"{plural(len(calls), 'call')} {was} under way when the run broke off, and may have been paid "
        f"for{price}: row{'s' if len(numbers) > 1 else ''} {rows}; {end}"
    )
