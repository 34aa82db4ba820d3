"""Completion in a settings file: tables, keys, values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from promptls.ide.completion.items import SETTING, Completion, Item
from promptls.ide.completion.lists import made
from promptls.ide.completion.values import file_paths
from promptls.ide.settings_file.schema import (
    Keys,
    Schema,
    TomlPlace,
    item_schema,
    keys_at,
    place_in,
    root_of,
    schema_at,
    type_words,
)
from promptls.lint.analysis.experiments import taken_by
from promptls.text.positions import Span
from promptls.workspace.python_functions import functions_in
from promptls.workspace.snapshot import Snapshot

_FILES: Final = {"functions": (".py",), "dataset": (".csv", ".jsonl", ".ndjson", ".json", ".parquet")}
"""How the files end that a setting may name."""
_MAX_PYTHON_FILES: Final = 50
_TABLE: Final = re.compile(r"^[ \t]*\[", re.MULTILINE)
_OPTION: Final = 3
"""How many keys lead to an option of a metric: `metrics`, its name, and the option's."""


def is_name(keys: Keys) -> bool:
    """Return whether names are known for the setting at `keys`, even if its schema does not list them."""
    return keys[:1] == ("metrics",) and len(keys) == _OPTION and keys[2] in {"model", "embeddings"}


def names(snapshot: Snapshot, path: str, text: str, keys: Keys, schema: Schema) -> Iterator[tuple[str, str]]:
    """Yield the texts that a setting may be."""
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
    elif last == "api_key_env":
        yield from _key_names()
    elif last == "roles":
        from promptls.dialects.prompt_poet.vocabulary import ROLES

        yield from ((role, "") for role in ROLES)
    elif last == "use" or (last == "metrics" and len(keys) > 1):
        yield from _metrics(snapshot, path, with_named=last == "metrics")
    elif last in {"default_model", "models", "judge"} or is_name(keys):
        yield from _models(snapshot, path)
    elif last == "model" and value_beside(text, keys, "provider") == "local":
        from promptls.models.weights import LOCAL_MODELS

        yield from ((name, "on this machine") for name in LOCAL_MODELS)


def metric_options(path: str, text: str, keys: Keys) -> Mapping[str, str]:
    """Return what may be set of the metric that `keys` lead to, by its `use`.

    Each with what it is in a word.
    """
    use = value_beside(text, (*keys, ""), "use")
    taken = taken_by(use, Path(path).parent) if use else None
    needed = dict.fromkeys(taken.required if taken else (), "needed")
    return {**needed, **dict.fromkeys(taken.optional if taken else (), "option")}


def value_beside(text: str, keys: Keys, name: str) -> str:
    """Return the text that stands under another key of the same table; empty where none is found.

    The table is found by its name, on a line of its own or as one line of another, broken or not.
    """
    *around, _ = keys
    header = re.search(rf"^[ \t]*\[[ \t]*(?:tool\.promptls\.)?{_dotted(around)}[ \t]*\]", text, re.MULTILINE)
    if header is not None:
        next_table = _TABLE.search(text, header.end())
        section = text[header.end() : next_table.start() if next_table else len(text)]
        found = re.search(rf"^[ \t]*{name}[ \t]*=[ \t]*[\"']([^\"'\r\n]*)", section, re.MULTILINE)
    else:
        begin = rf"^[^\r\n]*\b{re.escape(around[-1])}[ \t]*=[ \t]*{{[^\r\n]*"
        value = rf"\b{name}[ \t]*=[ \t]*[\"']([^\"'\r\n]*)"
        found = re.search(begin + value, text, re.MULTILINE)
    return found[1] if found else ""


def _dotted(keys: list[str]) -> str:
    return r"[ \t]*\.[ \t]*".join(rf"[\"']?{re.escape(key)}[\"']?" for key in keys)


def _metrics(snapshot: Snapshot, path: str, *, with_named: bool) -> Iterator[tuple[str, str]]:
    from promptls.metrics.registry import BUILTIN_METRICS

    if with_named:
        for name, metric in snapshot.project(path).settings.metrics.items():
            yield name, f"{metric.use}, with options"
    folder = Path(path).parent
    for index, item in enumerate(file_paths(str(folder), (".py",))):
        if index >= _MAX_PYTHON_FILES:
            break
        for function in functions_in(str(folder / item.label)) or ():
            if any(name.endswith("_metric") for name in function.decorators):
                yield f"{item.label}:{function.name}", "metric"
    yield from ((name, "built-in metric") for name in BUILTIN_METRICS)


def _models(snapshot: Snapshot, path: str) -> Iterator[tuple[str, str]]:
    from promptls.models.weights import LOCAL_MODELS

    for name, model in snapshot.project(path).settings.models.items():
        yield name, f"{model.provider}: {model.model}"
    for name in LOCAL_MODELS:
        yield f"local:{name}", "on this machine"
    for name in snapshot.editor_models:
        yield f"vscode:{name}", "of the editor"
    yield "echo", "for tests"


def _key_names() -> Iterator[tuple[str, str]]:
    from promptls.models.providers import TABLE

    for provider, row in TABLE.items():
        yield from ((name, provider) for name in row.key_envs)


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
    """Return what may stand at `offset` of the settings file at `path`."""
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
    """Yield the tables that a header may begin; those of names of one's own end with a dot.

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
        from promptls.lint.registry import RULES

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
    """Return a key with its `=`, unless present, and the quotes or brackets that its value needs."""
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
    """Return the first words of what a setting is, for the line of a list."""
    text = str(schema.get("description", "")) or type_words(schema)
    return text if len(text) <= _DESCRIBED else f"{text[: _DESCRIBED - 1]}…"
