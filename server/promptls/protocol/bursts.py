"""Many letters that arrive together, taken as the one edit that they are.

A client that was held up, or a macro that types, sends a change for each letter. Read one by one, each
would be parsed, though nobody asks for what lies in between.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from lsprotocol import types

from promptls.text.span import Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from promptls.syntax.source import Source

_ENDS: Final = frozenset("\r\n")


def gathered(messages: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The messages in order, with changes of one document that follow one another in one message.

    That message has the version of the last one. Changes that are not as the protocol wants them stay by
    themselves, because each of them is refused by itself.
    """
    waiting: dict[str, Any] | None = None
    for message in messages:
        if waiting is not None and _is_change(message) and _uri(message) == _uri(waiting):
            waiting = _joined(waiting, message)
            continue
        if waiting is not None:
            yield waiting
            waiting = None
        if _is_change(message):
            waiting = message
        else:
            yield message
    if waiting is not None:
        yield waiting


class Typed(NamedTuple):
    """One edit that so many changes amount to."""

    span: Span
    text: str
    changes: int


def typed_together(source: Source, changes: Sequence[dict[str, Any]]) -> Typed | None:
    """The edit that the first of the changes amount to: as many as stay at one place of a line.

    Each change counts from the text that the one before it left. Only ASCII is looked at, of which a letter
    is one unit of a column in whatever unit the client counts. None where not even the first one is such.
    """
    place = changes[0].get("range")
    if place is None:
        return None
    line = place["start"]["line"]
    whole = source.line_span(line)
    letters = source.slice(whole)
    if not letters.isascii() or source.place(whole.start).line != line:
        return None
    length = len(letters)
    start, end, text, count = -1, -1, "", 0
    for change in changes:
        found = _on_line(change, line, length)
        if found is None:
            break
        first, last, typed = found
        if count == 0:
            start, end, text = first, last, typed
        elif first > start + len(text) or last < start:
            break
        else:
            end += max(last - (start + len(text)), 0)
            text = text[: max(first - start, 0)] + typed + text[max(last - start, 0) :]
            start = min(start, first)
        length += len(typed) - (last - first)
        count += 1
    return Typed(Span(start, end).shifted(whole.start), text, count) if count else None


def _on_line(change: dict[str, Any], line: int, length: int) -> tuple[int, int, str] | None:
    """The columns and the text of a change inside a line of so many letters; None for any other change."""
    place, text = change.get("range"), change["text"]
    if place is None or place["start"]["line"] != line or place["end"]["line"] != line:
        return None
    first, last = place["start"]["character"], place["end"]["character"]
    is_inside = 0 <= first <= last <= length
    return (first, last, text) if is_inside and text.isascii() and _ENDS.isdisjoint(text) else None


def _is_change(message: dict[str, Any]) -> bool:
    """Whether the message changes ranges of a document, in the form that the protocol wants."""
    if message.get("method") != types.TEXT_DOCUMENT_DID_CHANGE or "id" in message:
        return False
    try:
        params = message["params"]
        document, changes = params["textDocument"], params["contentChanges"]
        return (
            isinstance(document["uri"], str)
            and isinstance(document["version"], int)
            and isinstance(changes, list)
            and all(_has_range(change) for change in changes)
        )
    except (KeyError, TypeError):
        return False


def _has_range(change: dict[str, Any]) -> bool:
    numbers = [change["range"][end][part] for end in ("start", "end") for part in ("line", "character")]
    return isinstance(change["text"], str) and all(type(number) is int for number in numbers)


def _uri(message: dict[str, Any]) -> str:
    uri: str = message["params"]["textDocument"]["uri"]
    return uri


def _joined(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    params = one["params"]
    changes = [*params["contentChanges"], *other["params"]["contentChanges"]]
    return {**one, "params": {**other["params"], "contentChanges": changes}}
