"""CompletionList, its documentation, and signature help."""

from __future__ import annotations

from typing import Any, Final

from lsprotocol import types

from promptls.ide.completion import CompletionItem, CompletionList, complete
from promptls.ide.completion.documentation import documentation
from promptls.ide.data_files import complete_sample
from promptls.ide.settings_file import complete_settings
from promptls.ide.signature_help import signature_help as help_at
from promptls.semantic.kind import Kind
from promptls.server.context import Context
from promptls.server.state.auxiliary_documents import AuxiliaryDocuments
from promptls.server.state.latest_renderings import Renderings
from promptls.server.to_proto import documentation_of, from_position, is_file, path_of, range_json
from promptls.syntax.jinja.builtins import Signature
from promptls.syntax.source import Source
from promptls.text.positions import PositionEncoding, units_from_column
from promptls.workspace.disk import has_prompt_name
from promptls.workspace.settings import is_settings_file

_ITEM_KINDS: Final = {
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
_FIRST_KINDS: Final = 18
"""The last kind supported by clients that do not declare their kinds."""
_FALLBACK_KIND: Final = 12
_SNIPPET: Final = 2
_ADJUSTED: Final = 2
_SHOW_PARAMETERS: Final = {"title": "Show Parameters", "command": "editor.action.triggerParameterHints"}
"""The command of VS Code that shows the parameters of a call, as after typing a parenthesis."""


def completion(
    context: Context, renderings: Renderings, auxiliary: AuxiliaryDocuments, params: types.CompletionParams
) -> dict[str, Any] | None:
    """Return the completions at the position, as plain JSON because typed items are slow to send."""
    uri = params.text_document.uri
    path = path_of(uri)
    is_settings = is_settings_file(path)
    # JSON text is usually invalid while it is being edited.
    is_json = path.lower().endswith(".json")
    may_ask = is_settings or is_json or has_prompt_name(path) or not is_file(path)
    is_sample = path in auxiliary and path.lower().endswith((".yml", ".yaml"))
    if context.kind(path) is Kind.OTHER and not may_ask and not is_sample:
        return None
    auxiliary.flush(path)
    snapshot = context.snapshot
    template = snapshot.template(path)
    if template is None:
        return None
    offset = from_position(template.source, params.position, context.encoding)
    trigger = ""
    if params.context is not None:
        is_typed = params.context.trigger_kind == types.CompletionTriggerKind.TriggerCharacter
        character = params.context.trigger_character or ""
        # Neovim can be set up to ask at each letter.
        trigger = character if is_typed and not character.isalnum() else ""
    if is_settings:
        found = complete_settings(snapshot, path, offset, trigger)
    elif is_sample:
        found = None if trigger else complete_sample(snapshot, path, offset)
    else:
        found = complete(snapshot, path, offset, renderings.latest(path), trigger)
        if found is None and is_json and trigger in {"", '"'}:
            found = complete_sample(snapshot, path, offset)
    if found is None:
        return None
    data = {"uri": uri, "source": found.source, "path": list(found.path), "offset": offset}
    return _list_json(context, template.source, found, data)


def _list_json(
    context: Context, source: Source, found: CompletionList, data: dict[str, Any]
) -> dict[str, Any]:
    capabilities = context.capabilities
    defaults: dict[str, Any] = {}
    insert = range_json(source, found.insert, context.encoding)
    replace = insert if found.replace == found.insert else range_json(source, found.replace, context.encoding)
    both = capabilities.insert_replace_edits and replace != insert
    edit: dict[str, Any] = {"insert": insert, "replace": replace} if both else {"range": insert}
    if not capabilities.insert_replace_edits:
        edit = {"range": replace}
    if "editRange" in capabilities.completion_defaults:
        defaults["editRange"] = edit if both else edit["range"]
    if "data" in capabilities.completion_defaults:
        defaults["data"] = data
    items = []
    for index, item in enumerate(found.items):
        made = _item_json(context, item, index)
        text = item.plain_text
        if item.snippet and capabilities.snippets:
            text = item.snippet
            made["insertTextFormat"] = _SNIPPET
            if capabilities.adjusts_indentation and "\n" in text:
                made["insertTextMode"] = _ADJUSTED
            if item.takes_arguments and capabilities.panels:
                made["command"] = _SHOW_PARAMETERS
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


def _item_json(context: Context, item: CompletionItem, index: int) -> dict[str, Any]:
    """Return an item without its text."""
    capabilities = context.capabilities
    kind = _ITEM_KINDS[item.kind]
    known = kind in capabilities.item_kinds if capabilities.item_kinds else kind <= _FIRST_KINDS
    made: dict[str, Any] = {
        "label": item.label,
        "kind": kind if known else _FALLBACK_KIND,
        "sortText": f"{index:03}",
    }
    if capabilities.label_details:
        details = {}
        if item.parameters:
            details["detail"] = item.parameters
        if item.detail:
            details["description"] = item.detail
        if details:
            made["labelDetails"] = details
    elif item.parameters or item.detail:
        made["detail"] = f"{item.parameters} {item.detail}".strip()
    # Without `filterText`, Neovim assumes that the server has already filtered an item with an edit.
    made["filterText"] = item.filter_text or item.label
    if item.is_preselected and capabilities.preselects:
        made["preselect"] = True
    if item.commits and capabilities.commit_characters:
        made["commitCharacters"] = list(item.commits)
    if item.is_deprecated and capabilities.item_tags:
        made["tags"] = [1]
    elif item.is_deprecated and capabilities.deprecated_items:
        made["deprecated"] = True
    return made


def completion_resolve(
    context: Context, renderings: Renderings, item: types.CompletionItem
) -> types.CompletionItem:
    """Return the item with its documentation, if there is any."""
    data = item.data
    if not isinstance(data, dict) or not isinstance(data.get("uri"), str) or item.documentation:
        return item
    path = path_of(data["uri"])
    text = documentation(
        context.snapshot,
        path,
        item.label,
        str(data.get("source", "")),
        tuple(map(str, data.get("path") or ())),
        int(data.get("offset") or 0),
        renderings.latest(path),
    )
    if text:
        item.documentation = documentation_of(text, context.capabilities.completion_formats)
    return item


def signature_help(context: Context, params: types.SignatureHelpParams) -> dict[str, Any] | None:
    """Return the signature of the call around the position, with the current parameter."""
    path = context.prompt_path(params.text_document.uri)
    template = context.snapshot.template(path) if path else None
    if path is None or template is None:
        return None
    found = help_at(context.snapshot, path, from_position(template.source, params.position, context.encoding))
    if found is None:
        return None
    capabilities = context.capabilities
    signature: dict[str, Any] = {
        "label": found.signature.text,
        "parameters": _parameters(found.signature, offsets=capabilities.parameter_offsets),
    }
    if found.documentation:
        signature["documentation"] = documentation_of(found.documentation, capabilities.signature_formats)
    # An index past the last parameter means that no parameter is active; the protocol has no other way.
    active = len(found.signature.parameters) if found.active is None else found.active
    if capabilities.signature_parameters:
        signature["activeParameter"] = active
    return {"signatures": [signature], "activeSignature": 0, "activeParameter": active}


def _parameters(signature: Signature, *, offsets: bool) -> list[dict[str, Any]]:
    """Return the parameters, by their offsets in the label if the client supports that."""
    found: list[dict[str, Any]] = []
    label = signature.text
    column = len(signature.name) + 1
    for parameter in signature.parameters:
        end = column + len(parameter.text)
        # These offsets count UTF-16 units, regardless of the position encoding.
        pair = [units_from_column(label, each, PositionEncoding.UTF16) for each in (column, end)]
        found.append({"label": pair if offsets else parameter.text})
        column = end + 2
    return found
