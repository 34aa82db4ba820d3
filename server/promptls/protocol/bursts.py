"""Many letters that arrive together, taken as the one edit that they are.

A client that was held up, or a macro that types, sends a change for each letter. Read one by one, each
would be parsed, though nobody asks for what lies in between.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from lsprotocol import types

from promptls.text.lines import column_from_units
from promptls.text.span import Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from promptls.syntax.source import Source
    from promptls.text.lines import Unit

_MOST_LINES: Final = 400
"""How far apart the changes may stand that are taken as one edit."""


class Pace:
    """Whether a client is in the middle of a burst, from its messages as they arrive."""

    def __init__(self) -> None:
        self.changes: int = 0
        """How many changes have arrived."""

    def goes_on(self, messages: Sequence[dict[str, Any]]) -> bool:
        """Whether more is likely to follow these messages at once.

        There were several changes, and the last one stands there without a question behind it, or a
        question was taken back: whoever asks for something again and again is not done yet.
        """
        methods = [message.get("method") for message in messages]
        self.changes += methods.count(types.TEXT_DOCUMENT_DID_CHANGE)
        if self.changes <= 1 or not methods:
            return False
        return methods[-1] == types.TEXT_DOCUMENT_DID_CHANGE or types.CANCEL_REQUEST in methods


def gathered(messages: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The messages in order, with changes of one document that follow one another in one message.

    That message has the version of the last one. Changes that are not as the protocol wants them stay by
    themselves, because each of them is refused by itself.
    """
    waiting: list[dict[str, Any]] = []
    about = None
    for message in messages:
        changed = _changed_document(message)
        if waiting and changed != about:
            yield _joined(waiting)
            waiting = []
        about = changed
        if changed is None:
            yield message
        else:
            waiting.append(message)
    if waiting:
        yield _joined(waiting)


class Typed(NamedTuple):
    """One edit that so many changes amount to."""

    span: Span
    text: str
    changes: int


def typed_together(source: Source, changes: Sequence[dict[str, Any]], unit: Unit) -> Typed | None:
    r"""The one edit that the first of the changes amount to: as many as stay near one another.

    Each change counts from the text that the one before it left; a line that is past the end stops the
    count. None where not even the first one can be taken, or where lines end at `\r` alone.
    """
    first, last = _reach(changes)
    if first < 0:
        return None
    begin = source.line_span(first).start
    whole = Span(begin, max(source.line_span(last).end, begin))
    old = source.slice(whole)
    if source.place(begin).line != first or "\r" in old.replace("\r\n", ""):
        return None
    before = old.split("\n")
    lines = before.copy()
    count = 0
    for change in changes:
        if not _is_applied(lines, first, change, unit):
            break
        count += 1
    return Typed(*_difference(before, lines, begin), count) if count else None


def _reach(changes: Sequence[dict[str, Any]]) -> tuple[int, int]:
    """The first and the last line that the first of the changes touch, in the text before all of them.

    As many are looked at as stay near one another; (-1, -1) where that is none.
    """
    found = first, last = (-1, -1)
    removed = 0
    for change in changes:
        place = change.get("range")
        if place is None:
            break
        start, end = place["start"]["line"], place["end"]["line"]
        first = start if first < 0 else min(first, start)
        removed += max(end - start, 0)
        last = max(last, end)
        if first < 0 or last + removed - first > _MOST_LINES:
            break
        found = first, last + removed
    return found


def _is_applied(lines: list[str], first: int, change: dict[str, Any], unit: Unit) -> bool:
    """Apply a change to lines of which the first has the number `first`; whether it is one of them only."""
    place, text = change.get("range"), change["text"]
    if place is None:
        return False
    start, end = place["start"], place["end"]
    above, below = start["line"] - first, end["line"] - first
    if not 0 <= above <= below < len(lines):
        return False
    head, tail = lines[above], lines[below]
    left = _column(head, start["character"], unit)
    right = _column(tail, end["character"], unit)
    if above == below and left > right:
        return False
    made = head[:left] + text + tail[right:]
    if "\n" not in text and "\r" not in text:
        lines[above : below + 1] = (made,)
    elif "\r" in text.replace("\r\n", ""):
        return False
    else:
        lines[above : below + 1] = made.split("\n")
    return True


def _column(line: str, units: int, unit: Unit) -> int:
    """The column in a line, of which a return may be left, that lies so many units from its beginning."""
    if 0 <= units < len(line) and line.isascii():
        return units
    return column_from_units(line.removesuffix("\r"), units, unit)


def _difference(before: list[str], after: list[str], begin: int) -> tuple[Span, str]:
    """What is to be replaced in lines that begin at the offset `begin`, and by what, to make others of them.

    At least one line of each is compared letter by letter, so that lines which are put in or taken out
    take their line ends with them.
    """
    most = min(len(before), len(after)) - 1
    head = 0
    while head < most and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < most - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    begin += sum([len(line) + 1 for line in before[:head]])
    old, new = ("\n".join(lines[head : len(lines) - tail]) for lines in (before, after))
    left = _shared_start(old, new)
    right = _shared_start(old[left:][::-1], new[left:][::-1])
    return Span(begin + left, begin + len(old) - right), new[left : len(new) - right]


def _shared_start(one: str, other: str) -> int:
    """How many characters two texts have in common at their beginning, found by halves."""
    shared, most = 0, min(len(one), len(other))
    while shared < most:
        middle = (shared + most + 1) // 2
        if one[shared:middle] == other[shared:middle]:
            shared = middle
        else:
            most = middle - 1
    return shared


def _changed_document(message: dict[str, Any]) -> str | None:
    """The address of the document of which the message changes ranges; None where it does something else.

    None, too, where the message is not in the form that the protocol wants.
    """
    if message.get("method") != types.TEXT_DOCUMENT_DID_CHANGE or "id" in message:
        return None
    try:
        params = message["params"]
        document, changes = params["textDocument"], params["contentChanges"]
        address = document["uri"]
        if not (
            isinstance(address, str) and isinstance(document["version"], int) and isinstance(changes, list)
        ):
            return None
        for change in changes:
            place = change["range"]
            start, end = place["start"], place["end"]
            if not (
                isinstance(change["text"], str)
                and type(start["line"]) is type(start["character"]) is int
                and type(end["line"]) is type(end["character"]) is int
            ):
                return None
    except (KeyError, TypeError):
        return None
    return address


def _joined(messages: list[dict[str, Any]]) -> dict[str, Any]:
    last = messages[-1]
    if len(messages) == 1:
        return last
    changes = [change for message in messages for change in message["params"]["contentChanges"]]
    return {**last, "params": {**last["params"], "contentChanges": changes}}
