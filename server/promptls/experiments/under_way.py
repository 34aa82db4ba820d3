"""Calls that were on their way when a run broke off: nobody knows whether they were paid for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from promptls.models.providers import TABLE
from promptls.models.reference import ModelReference
from promptls.text.counted import counted
from promptls.text.dollars import in_dollars

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
        """The call that a journal holds; raises TypeError and ValueError for what is none."""
        number, model, repeat, asked, key = value
        return cls(int(number), str(model), int(repeat), str(asked), str(key))


class UnsureCalls(NamedTuple):
    """The calls of a run that broke off which may have been paid for, and about what they cost at least.

    `cost` is in US dollars; None where no price is known.
    """

    calls: tuple[CallUnderWay, ...] = ()
    cost: float | None = None

    def is_of(self, number: int, model: str, repeat: int) -> bool:
        """Whether a call for this result is among them."""
        return any(call[:3] == (number, model, repeat) for call in self.calls)

    def words(self, ids: Mapping[int, str], *, left: bool) -> str | None:
        """One sentence that names them, by the ids of their rows; None where there are none."""
        if not self.calls:
            return None
        numbers = sorted({call.number for call in self.calls})
        named = [f"{number} (id {ids[number]})" if number in ids else str(number) for number in numbers]
        more = f" and {len(named) - _SHOWN_ROWS} more" if len(named) > _SHOWN_ROWS else ""
        rows = ", ".join(named[:_SHOWN_ROWS]) + more
        many = len(self.calls) > 1
        cost = f", about {in_dollars(self.cost)}" if self.cost else ""
        end = "left out" if left else "made again (`--leave-unsure` leaves them out)"
        if not many:
            end = end.replace("leaves them", "leaves it")
        return (
            f"{counted(len(self.calls), 'call')} {'were' if many else 'was'} under way when the run broke "
            f"off, and may have been paid for{cost}: row{'s' if len(numbers) > 1 else ''} {rows}; "
            f"{'they are' if many else 'it is'} {end}"
        )


def call_note(note: ResultCallNote, number: int, model: str, repeat: int) -> CallNote:
    """What is told of the calls for one result: those that leave this machine are noted."""

    def tell(asked: ModelReference, key: bytes | None) -> None:
        if TABLE[asked.provider].route not in {"echo", "replay", "local"}:
            note(number, model, repeat, asked.name, key)

    return tell


def unsure_calls(
    calls: Iterable[CallUnderWay],
    has_answer: Callable[[bytes], bool],
    cost_of: Callable[[CallUnderWay], float | None],
) -> UnsureCalls:
    """Those of `calls` whose answers nobody kept."""
    unsure = tuple(call for call in calls if not (call.key and has_answer(bytes.fromhex(call.key))))
    costs = [cost for call in unsure if (cost := cost_of(call)) is not None]
    return UnsureCalls(unsure, sum(costs) if costs else None)
