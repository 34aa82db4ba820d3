"""`textDocument/completion`, as plain JSON: the answer is made of many items, and waited for at each key."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from promptls.features.completion import Completion, Item, complete
from promptls.features.settings_file import complete_settings, is_settings_file
from promptls.meaning.kind import Kind
from promptls.protocol.convert import is_file, path_of, range_json
from promptls.protocol.dispatch import attempted
from promptls.syntax.source import Source
from promptls.workspace.disk import has_prompt_name

if TYPE_CHECKING:
    from promptls.protocol.session import Session

METHOD: Final = "textDocument/completion"
_KINDS: Final = {
    "method": 2,
    "function": 3,
    "field": 5,
    "variable": 6,
    "module": 9,
    "property": 10,
    "value": 12,
    "enum": 20,
    "keyword": 14,
    "snippet": 15,
    "file": 17,
    "constant": 21,
}
"""The protocol's numbers."""
_FIRST_KINDS: Final = 18
"""The last kind that clients know which do not say what they know."""
_FALLBACK_KIND: Final = 12
_BY_CHARACTER: Final = 2
_SNIPPET: Final = 2
_ADJUSTED: Final = 2


def completion(session: Session, params: dict[str, Any]) -> dict[str, Any] | None:
    """What may stand at the position, laid out as the client takes it."""
    uri = params["textDocument"]["uri"]
    path = path_of(uri)
    is_settings = is_settings_file(path)
    # A JSON text that somebody types into is hardly ever JSON.
    may_ask = is_settings or path.lower().endswith(".json") or has_prompt_name(path) or not is_file(path)
    if session.kind(path) is Kind.OTHER and not may_ask:
        return None
    snapshot = session.snapshot
    template = snapshot.template(path)
    if template is None:
        return None
    position = params["position"]
    offset = template.source.offset(position["line"], position["character"], session.unit)
    context = params.get("context") or {}
    trigger = context.get("triggerCharacter") or "" if context.get("triggerKind") == _BY_CHARACTER else ""
    if is_settings:
        answer = partial(complete_settings, snapshot, path, offset, trigger)
    else:
        newest = session.renderings.newest(path)
        answer = partial(complete, snapshot, path, offset, newest, trigger)
    found = attempted(METHOD, answer)
    if found is None:
        return None
    data = {"uri": uri, "source": found.source, "path": list(found.path), "offset": offset}
    return _list_json(session, template.source, found, data)


def _list_json(session: Session, source: Source, found: Completion, data: dict[str, Any]) -> dict[str, Any]:
    flags = session.flags
    defaults: dict[str, Any] = {}
    insert = range_json(source, found.insert, session.unit)
    replace = insert if found.replace == found.insert else range_json(source, found.replace, session.unit)
    both = flags.insert_replace_edits and replace != insert
    edit: dict[str, Any] = {"insert": insert, "replace": replace} if both else {"range": insert}
    if not flags.insert_replace_edits:
        edit = {"range": replace}
    if "editRange" in flags.completion_defaults:
        defaults["editRange"] = edit if both else edit["range"]
    if "data" in flags.completion_defaults:
        defaults["data"] = data
    items = []
    for index, item in enumerate(found.items):
        made = _item_json(session, item, index)
        text = item.plain_text
        if item.snippet and flags.snippets:
            text = item.snippet
            made["insertTextFormat"] = _SNIPPET
            if flags.adjusts_indentation and "\n" in text:
                made["insertTextMode"] = _ADJUSTED
        if "editRange" not in defaults:
            made["textEdit"] = {**edit, "newText": text}
        elif text != item.label:
            made["textEditText"] = text
        if "data" not in defaults:
            made["data"] = data
        items.append(made)
    answer: dict[str, Any] = {"isIncomplete": found.is_incomplete, "items": items}
    if defaults:
        answer["itemDefaults"] = defaults
    return answer


def _item_json(session: Session, item: Item, index: int) -> dict[str, Any]:
    """What an item says of itself; its text is the caller's to add."""
    flags = session.flags
    kind = _KINDS[item.kind]
    known = kind in flags.item_kinds if flags.item_kinds else kind <= _FIRST_KINDS
    made: dict[str, Any] = {
        "label": item.label,
        "kind": kind if known else _FALLBACK_KIND,
        "sortText": f"{index:03}",
    }
    if flags.label_details:
        details = {}
        if item.parameters:
            details["detail"] = item.parameters
        if item.detail:
            details["description"] = item.detail
        if details:
            made["labelDetails"] = details
    elif item.parameters or item.detail:
        made["detail"] = f"{item.parameters} {item.detail}".strip()
    # Neovim takes an item with an edit and without this for one that the server has filtered already.
    made["filterText"] = item.filter_text or item.label
    if item.is_preselected and flags.preselects:
        made["preselect"] = True
    if item.commits and flags.commit_characters:
        made["commitCharacters"] = list(item.commits)
    if item.is_deprecated and flags.item_tags:
        made["tags"] = [1]
    elif item.is_deprecated and flags.deprecated_items:
        made["deprecated"] = True
    return made
