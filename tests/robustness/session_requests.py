"""Parameters for every request in the server's table, including future ones."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

from lsprotocol import types

from promptls.server.features import FEATURES

Json = dict[str, Any]
_REQUESTS = [
    method
    for method in FEATURES
    if method in types.METHOD_TO_TYPES and types.METHOD_TO_TYPES[method][1] is not None
]
_ENDS = {types.SHUTDOWN, types.INITIALIZE}
_ITEM_METHODS = {
    types.CALL_HIERARCHY_INCOMING_CALLS: "item",
    types.CALL_HIERARCHY_OUTGOING_CALLS: "item",
}
_RESOLVES = {
    types.COMPLETION_ITEM_RESOLVE,
    types.CODE_ACTION_RESOLVE,
    types.CODE_LENS_RESOLVE,
    types.DOCUMENT_LINK_RESOLVE,
    types.INLAY_HINT_RESOLVE,
    types.WORKSPACE_SYMBOL_RESOLVE,
}
WHOLE = {
    types.TEXT_DOCUMENT_DOCUMENT_SYMBOL,
    types.TEXT_DOCUMENT_DOCUMENT_LINK,
    types.TEXT_DOCUMENT_CODE_LENS,
    types.TEXT_DOCUMENT_INLAY_HINT,
    types.TEXT_DOCUMENT_FOLDING_RANGE,
    types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL,
    types.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE,
    types.TEXT_DOCUMENT_FORMATTING,
    types.TEXT_DOCUMENT_DIAGNOSTIC,
    types.WORKSPACE_SYMBOL,
    types.WORKSPACE_DIAGNOSTIC,
}
"""Requested once for each document when two servers are compared."""
POSITIONAL = {
    types.TEXT_DOCUMENT_HOVER,
    types.TEXT_DOCUMENT_DEFINITION,
    types.TEXT_DOCUMENT_DECLARATION,
    types.TEXT_DOCUMENT_TYPE_DEFINITION,
    types.TEXT_DOCUMENT_IMPLEMENTATION,
    types.TEXT_DOCUMENT_REFERENCES,
    types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT,
    types.TEXT_DOCUMENT_COMPLETION,
    types.TEXT_DOCUMENT_SIGNATURE_HELP,
    types.TEXT_DOCUMENT_CODE_ACTION,
    types.TEXT_DOCUMENT_PREPARE_RENAME,
    types.TEXT_DOCUMENT_RENAME,
    types.TEXT_DOCUMENT_SELECTION_RANGE,
    types.TEXT_DOCUMENT_LINKED_EDITING_RANGE,
    types.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY,
    types.TEXT_DOCUMENT_RANGE_FORMATTING,
    types.TEXT_DOCUMENT_RANGES_FORMATTING,
    types.TEXT_DOCUMENT_ON_TYPE_FORMATTING,
}
"""Requested at several positions of each document when two servers are compared."""


@cache
def _requests(*, pulls: bool) -> tuple[str, ...]:
    pulling = {types.TEXT_DOCUMENT_DIAGNOSTIC, types.WORKSPACE_DIAGNOSTIC}
    return tuple(name for name in _REQUESTS if name not in _ENDS and (pulls or name not in pulling))


def requests_of(capabilities: Json) -> tuple[str, ...]:
    """Return the requests that a client with these capabilities may send."""
    return _requests(pulls="diagnostic" in capabilities.get("textDocument", {}))


class Answers:
    """Items of previous answers, used in later requests."""

    def __init__(self) -> None:
        self._items: list[Json] = []
        self.results: list[str] = ["none"]

    def keep(self, result: Any) -> None:
        """Store a few items of an answer."""
        if isinstance(result, dict):
            if "resultId" in result:
                self.results = [*self.results[-20:], result["resultId"]]
            result = result.get("items") or []
        if isinstance(result, list):
            self._items = [*self._items, *(item for item in result[:2] if isinstance(item, dict))][-60:]

    def item(self, dice: random.Random) -> Json:
        return dice.choice(self._items or [{}])


def params_of(method: str, uri: str, places: list[Json], answers: Answers, dice: random.Random) -> Json:
    """Return parameters that fit any request, because unknown ones are ignored."""
    if method in _RESOLVES:
        return answers.item(dice)
    if method in _ITEM_METHODS:
        return {"item": answers.item(dice)}
    start, end = sorted(places, key=lambda place: (place["line"], place["character"]))
    place = {"start": start, "end": end}
    if method == types.WORKSPACE_EXECUTE_COMMAND:
        command = dice.choice(
            ["promptls.tokens", "promptls.check", "promptls.preview", "promptls.showResults"]
        )
        return {"command": command, "arguments": [{"uri": uri}]}
    if method == types.WORKSPACE_WILL_RENAME_FILES:
        return {"files": [{"oldUri": uri, "newUri": f"{uri.rpartition('/')[0]}/new.yml.j2"}]}
    return {
        "textDocument": {"uri": uri},
        "position": start,
        "positions": places,
        "range": place,
        "ranges": [place],
        "context": {"diagnostics": [], "triggerKind": 1, "isRetrigger": False, "includeDeclaration": True},
        "options": {"tabSize": 2, "insertSpaces": True},
        "ch": "\n",
        "newName": "renamed",
        "query": dice.choice(["", "a", "system"]) if method != types.WORKSPACE_SYMBOL else "",
        "previousResultId": dice.choice(answers.results),
        "previousResultIds": [],
    }
