"""What may be written in a settings file: tables, keys, values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from promptls.features.completion.item import SETTING, Completion, Item
from promptls.features.completion.made import made
from promptls.features.settings_file.place import Keys, TomlPlace, place_in, root_of
from promptls.features.settings_file.schema import Schema, item_schema, keys_at, schema_at, type_words
from promptls.features.settings_file.values import is_name, metric_options, names
from promptls.text.span import Span
from promptls.workspace.snapshot import Snapshot

_DESCRIBED: Final = 80
_IN_QUOTES: Final = frozenset({"string", None})
_MEANT_BY: Final = {'"': ("value",), "'": ("value",), ".": ("table", "key"), "[": ("table",)}

_PARAMETERS: Final = {
    "temperature": "how freely the model chooses its words",
    "top_p": "the share of the likeliest words that it chooses among",
    "max_tokens": "the longest answer, in tokens",
    "seed": "for the same answer again, where the model has it",
    "stop": "texts that end the answer",
}
"""What most providers take with a request."""


def complete_settings(snapshot: Snapshot, path: str, offset: int, trigger: str = "") -> Completion | None:
    """What may stand at `offset` of the settings file at `path`."""
    template = snapshot.template(path)
    if template is None:
        return None
    text = template.source.text
    root = root_of(path)
    place = place_in(text, offset, root)
    if place is None or (trigger and place.what not in _MEANT_BY.get(trigger, ())):
        return None
    if place.what == "table":
        items: Iterable[Item] = _tables(root, text[place.word.start : offset])
    elif place.what == "key":
        items = _keys(path, text, place)
    else:
        items = _values(snapshot, path, text, place)
    insert = Span(place.word.start, max(offset, place.word.start))
    replace = Span(place.word.start, max(place.word.end, offset))
    return made(items, insert, replace, SETTING, ("", *place.keys))


def _tables(root: Keys, written: str) -> Iterator[Item]:
    """The tables that a header may begin; those of names of one's own end with a dot.

    Behind a name of one's own, `models.fast.`, those that are below it.
    """
    *around, _ = (*written.split("."),)
    keys = tuple(name.strip().strip("\"'") for name in around)
    inside = keys[len(root) :] if keys[: len(root)] == root else ()
    if len(inside) > 1:
        for name, schema in keys_at(inside).items():
            if schema.get("type") == "object":
                yield Item(f"{'.'.join(around)}.{name}", "module", 10, detail=_short(schema))
        return
    if inside == ("rate_limits",):
        from promptls.models.registry import PROVIDERS

        for name, summary in PROVIDERS.items():
            yield Item(f"{'.'.join(around)}.{name}", "module", 10, detail=summary)
        return
    before = "".join(f"{name}." for name in root)
    if root:
        yield Item(before.rstrip("."), "module", 5, detail="settings of promptls")
    for name, schema in keys_at(()).items():
        if schema.get("type") != "object":
            continue
        is_named = isinstance(schema.get("additionalProperties"), dict) and schema[
            "additionalProperties"
        ].get("$ref")
        label = f"{before}{name}{'.' if is_named else ''}"
        yield Item(label, "module", 10, detail=_short(schema))


def _keys(path: str, text: str, place: TomlPlace) -> Iterator[Item]:
    if place.keys == ("rules",):
        from promptls.rules.registry import RULES

        for rule in RULES:
            yield _key(rule.name, {"type": "string"}, rule.summary, text, place)
        return
    if place.keys[:1] == ("metrics",) and place.keys[2:] in {(), ("columns",)} and len(place.keys) > 1:
        for name, detail in metric_options(path, text, place.keys[:2]).items():
            yield _key(name, {} if place.keys[2:] == () else {"type": "string"}, detail, text, place)
    if place.keys[:1] == ("models",) and place.keys[2:] == ("parameters",):
        for name, detail in _PARAMETERS.items():
            yield _key(name, {}, detail, text, place)
    for name, schema in keys_at(place.keys).items():
        is_table = schema.get("type") == "object" and not place.keys
        if not is_table:
            yield _key(name, schema, _short(schema), text, place)


def _key(name: str, schema: Schema, detail: str, text: str, place: TomlPlace) -> Item:
    """A key with its `=`, unless that stands there, and the quotes or brackets that its value takes."""
    if place.quote or re.match(r"[ \t]*=", text[place.word.end :]):
        return Item(name, "property", 10, detail=detail)
    kind = schema.get("type")
    around = {"string": '"$1"', "array": "[$1]", "object": "{ $1 }"}.get(str(kind), "$1")
    return Item(name, "property", 10, text=f"{name} = ", snippet=f"{name} = {around}$0", detail=detail)


def _values(snapshot: Snapshot, path: str, text: str, place: TomlPlace) -> Iterator[Item]:
    schema = item_schema(schema_at(place.keys))
    if schema.get("type") == "boolean" and not place.quote:
        yield from (Item(word, "keyword", 10) for word in ("true", "false"))
    elif schema.get("type", "string") in _IN_QUOTES or is_name(place.keys):
        for index, (name, detail) in enumerate(names(snapshot, path, text, place.keys, schema)):
            written = name if place.quote else f'"{name}"'
            yield Item(name, "enum", 10 + min(index, 80), text=written, detail=detail, filter_text=name)


def _short(schema: Schema) -> str:
    """The first words of what a setting is, for the line of a list."""
    text = str(schema.get("description", "")) or type_words(schema)
    return text if len(text) <= _DESCRIBED else f"{text[: _DESCRIBED - 1]}…"
