"""What may be written in a settings file: tables, keys, values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from promptls.features.completion.item import SETTING, Completion, Item
from promptls.features.completion.made import made
from promptls.features.completion.paths import file_paths
from promptls.features.settings_file.place import TomlPlace, place_in, root_of
from promptls.features.settings_file.schema import Schema, item_schema, keys_at, schema_at, type_words
from promptls.text.span import Span
from promptls.workspace.snapshot import Snapshot

_FILES: Final = {"functions": (".py",), "dataset": (".csv", ".jsonl", ".ndjson", ".json", ".parquet")}
"""How the files end that a setting may name."""
_DESCRIBED: Final = 80
_IN_QUOTES: Final = frozenset({"string", None})
_MEANT_BY: Final = {'"': ("value",), "'": ("value",), ".": ("table", "key"), "[": ("table",)}


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
        items: Iterable[Item] = _tables(root)
    elif place.what == "key":
        items = _keys(text, place)
    else:
        items = _values(snapshot, path, place)
    insert = Span(place.word.start, max(offset, place.word.start))
    replace = Span(place.word.start, max(place.word.end, offset))
    return made(items, insert, replace, SETTING, ("", *place.keys))


def _tables(root: tuple[str, ...]) -> Iterator[Item]:
    """The tables that a header may begin; those of names of one's own end with a dot."""
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


def _keys(text: str, place: TomlPlace) -> Iterator[Item]:
    if place.keys == ("rules",):
        from promptls.rules.registry import RULES

        for rule in RULES:
            yield _key(rule.name, {"type": "string"}, rule.summary, text, place)
        return
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


def _values(snapshot: Snapshot, path: str, place: TomlPlace) -> Iterator[Item]:
    schema = item_schema(schema_at(place.keys))
    if schema.get("type") == "boolean" and not place.quote:
        yield from (Item(word, "keyword", 10) for word in ("true", "false"))
    elif schema.get("type", "string") in _IN_QUOTES:
        for index, (name, detail) in enumerate(_names(snapshot, path, place.keys, schema)):
            text = name if place.quote else f'"{name}"'
            yield Item(name, "enum", 10 + min(index, 80), text=text, detail=detail, filter_text=name)


def _names(snapshot: Snapshot, path: str, keys: tuple[str, ...], schema: Schema) -> Iterator[tuple[str, str]]:
    """The texts that a setting may be, each with what it is."""
    if "enum" in schema:
        yield from ((str(each), "") for each in schema["enum"])
        return
    last = keys[-1] if keys else ""
    if last in _FILES:
        yield from ((item.label, "") for item in file_paths(str(Path(path).parent), _FILES[last]))
    elif last == "encoding":
        from promptls.tokens.encodings import ENCODING_NAMES

        yield from ((name, "") for name in ENCODING_NAMES)
    elif last == "provider":
        from promptls.models.registry import PROVIDERS

        yield from PROVIDERS.items()
    elif last == "roles":
        from promptls.systems.prompt_poet.vocabulary import ROLES

        yield from ((role, "") for role in ROLES)
    elif last == "metrics":
        from promptls.metrics.registry import READY_METRICS

        yield from ((name, "ready metric") for name in READY_METRICS)
    elif last in {"default_model", "models"}:
        yield from _models(snapshot, path)


def _models(snapshot: Snapshot, path: str) -> Iterator[tuple[str, str]]:
    from promptls.models.weights import LOCAL_MODELS

    for name, model in snapshot.project(path).settings.models.items():
        yield name, f"{model.provider}: {model.model}"
    for name in LOCAL_MODELS:
        yield f"local:{name}", "on this machine"
    for name in snapshot.editor_models:
        yield f"vscode:{name}", "of the editor"
    yield "echo", "for tests"


def _short(schema: Schema) -> str:
    """The first words of what a setting is, for the line of a list."""
    text = str(schema.get("description", "")) or type_words(schema)
    return text if len(text) <= _DESCRIBED else f"{text[: _DESCRIBED - 1]}…"
