"""Letters that arrive together: when a client is in the middle of a burst, and its changes as one message.

A client that was held up, or a macro that types, sends a change for each letter. Read one by one, each
would be parsed, though nobody asks for what lies in between.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsprotocol import types

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


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
