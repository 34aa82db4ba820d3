"""Completion and hover in the settings file (TOML), based on the model of the settings."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, get_args, get_origin

from promptls.dialects import KeyFact
from promptls.dialects.prompt_poet.vocabulary import ROLES
from promptls.ide.completion.items import SETTING, CompletionItem, CompletionList, made
from promptls.ide.completion.yaml_values import available_models, file_paths, options_of, python_metrics
from promptls.ide.hover.markdown import Hover, code
from promptls.ide.key_facts import declared_at, describe_type, model_keys_at
from promptls.lint.registry import RULES, RULES_BY_NAME
from promptls.models.providers import TABLE
from promptls.settings.project import Project
from promptls.syntax.toml_places import (
    LONG_QUOTES,
    TABLE_HEADER,
    TOML_NAME,
    TomlReader,
    TooLargeTomlError,
)
from promptls.text.escape import markdown_text
from promptls.text.positions import Span
from promptls.tokens import ENCODING_NAMES
from promptls.workspace.settings import root_of
from promptls.workspace.snapshot import Snapshot

_WORD: Final = re.compile(r"[\w-]*")
_IN_STRING: Final = re.compile(r"[^\"'\r\n]*")

Keys = tuple[str, ...]


class TomlPlace(NamedTuple):
    """A place in a settings file.

    `keys` is the path from the settings' root to the mapping whose key is written, or to the value being
    written. `word` is the existing text, without quotes; `quote` is the open quote.
    """

    what: Literal["table", "key", "value"]
    keys: Keys
    word: Span
    quote: str = ""


def place_in(text: str, offset: int, root: Keys) -> TomlPlace | None:
    """Return the context of `offset`.

    None in a comment, in settings of other tools, and in a text that is too large or too deeply nested.
    """
    found = _place_in(text, offset)
    if found is None or found.what == "table":
        return found
    if found.keys[: len(root)] != root:
        return None
    return found._replace(keys=found.keys[len(root) :])


def names_in(text: str) -> Keys:
    """Return the names in a table's header or a dotted key."""
    return tuple(next(filter(None, match.groups()), "") for match in TOML_NAME.finditer(text))


def _place_in(text: str, offset: int) -> TomlPlace | None:
    """Return the context of `offset`, with the keys from the root of the file."""
    reader = TomlReader(text)
    start, quote, rest = offset, "", _WORD
    try:
        for token in reader.tokens():
            if token.start() >= offset:
                break
            is_long = token.group().startswith(LONG_QUOTES)
            if token.re is TABLE_HEADER:
                if token.end() >= offset:
                    return TomlPlace("table", (), Span(token.start(1), token.end()))
            elif token.lastgroup == "open" and is_long:
                return None
            elif token.end() >= offset and token.lastgroup in {"comment", "word", "string", "open"}:
                is_closed = token.lastgroup == "string" and token.end() == offset
                if token.lastgroup == "comment" or is_long or is_closed:
                    return None
                start = token.start()
                if token.lastgroup != "word":
                    start, quote, rest = start + 1, token.group()[0], _IN_STRING
                break
    except TooLargeTomlError:
        return None
    if reader.expects == "end":
        return None
    end = rest.match(text, offset)
    keys = tuple(key for key in reader.path if isinstance(key, str))
    return TomlPlace(reader.expects, keys, Span(start, end.end() if end else offset), quote)


_FILES: Final = {"functions": (".py",), "dataset": (".csv", ".jsonl", ".ndjson", ".json", ".parquet")}
"""The file name extensions for settings that are paths."""
_TABLE: Final = re.compile(r"^[ \t]*\[", re.MULTILINE)
_OPTION: Final = 3
"""The length of the path of a metric's option: `metrics`, its name, and the option's."""


def is_name(keys: Keys) -> bool:
    """Return whether names are known for the setting at `keys`, even if nothing declares them."""
    return keys[:1] == ("metrics",) and len(keys) == _OPTION and keys[2] in {"model", "embeddings"}


def names(snapshot: Snapshot, path: str, text: str, keys: Keys, kind: Any) -> Iterator[tuple[str, str]]:
    """Yield the suggested values of a setting, whose type is `kind`."""
    if get_origin(kind) is Literal:
        yield from ((str(each), "") for each in get_args(kind))
        return
    last = keys[-1] if keys else ""
    if last in _FILES:
        yield from ((item.label, "") for item in file_paths(str(Path(path).parent), _FILES[last]))
    elif last == "encoding":
        yield from ((name, "") for name in ENCODING_NAMES)
    elif last == "provider":
        from promptls.models.model_names import PROVIDERS

        yield from PROVIDERS.items()
    elif last == "api_key_env":
        yield from _key_names()
    elif last == "roles":
        yield from ((role, "") for role in ROLES)
    elif last == "use" or (last == "metrics" and len(keys) > 1):
        yield from _metrics(snapshot, path, with_named=last == "metrics")
    elif last in {"default_model", "models", "judge"} or is_name(keys):
        yield from available_models(snapshot, path)
    elif last == "model" and value_beside(text, keys, "provider") == "local":
        from promptls.models.weights import LOCAL_MODELS

        yield from ((name, "on this machine") for name in LOCAL_MODELS)


def metric_options(path: str, text: str, keys: Keys) -> Mapping[str, str]:
    """Return the options of the metric at `keys`, according to its `use`.

    Each with a short description.
    """
    use = value_beside(text, (*keys, ""), "use")
    return options_of(use, path) if use else {}


def value_beside(text: str, keys: Keys, name: str) -> str:
    """Return the text under another key of the same table; empty if there is none.

    The table is found by its header or as an inline table, even if the text is invalid.
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
    from promptls.metrics.builtin_metrics import BUILTIN_METRICS

    if with_named:
        for name, metric in snapshot.project(path).settings.metrics.items():
            yield name, f"{metric.use}, with options"
    yield from ((name, "metric") for name in python_metrics(Path(path).parent))
    yield from ((name, "built-in metric") for name in BUILTIN_METRICS)


def _key_names() -> Iterator[tuple[str, str]]:
    for provider, row in TABLE.items():
        yield from ((name, provider) for name in row.key_envs)


_DESCRIBED: Final = 80
_TRIGGERED_BY: Final = {'"': ("value",), "'": ("value",), ".": ("table", "key"), "[": ("table",)}

_PARAMETERS: Final = {
    "temperature": "how much the answers vary",
    "top_p": "the share of the most probable tokens to sample from",
    "max_tokens": "the maximum length of an answer, in tokens",
    "seed": "for reproducible answers, if the model supports it",
    "stop": "texts that end the answer",
}
"""Request parameters that most providers support."""


def complete_settings(snapshot: Snapshot, path: str, offset: int, trigger: str = "") -> CompletionList | None:
    """Return the completions at `offset` of the settings file at `path`."""
    template = snapshot.template(path)
    if template is None:
        return None
    text = template.source.text
    root = root_of(path)
    place = place_in(text, offset, root)
    if place is None or (trigger and place.what not in _TRIGGERED_BY.get(trigger, ())):
        return None
    if place.what == "table":
        items: Iterable[CompletionItem] = _tables(root, text[place.word.start : offset])
    elif place.what == "key":
        items = _keys(path, text, place)
    else:
        items = _values(snapshot, path, text, place)
    insert = Span(place.word.start, max(offset, place.word.start))
    replace = Span(place.word.start, max(place.word.end, offset))
    return made(items, insert, replace, SETTING, ("", *place.keys))


def _tables(root: Keys, written: str) -> Iterator[CompletionItem]:
    """Yield the table names for a header; those with user-defined children end with a dot.

    After a user-defined name such as `models.fast.`, its subtables.
    """
    *around, _ = (*written.split("."),)
    keys = tuple(name.strip().strip("\"'") for name in around)
    inside = keys[len(root) :] if keys[: len(root)] == root else ()
    if len(inside) > 1:
        for name, fact in model_keys_at(Project, inside).items():
            if fact.describe_type == "mapping":
                yield CompletionItem(f"{'.'.join(around)}.{name}", "module", 10, detail=_short(fact))
        return
    if inside == ("rate_limits",):
        from promptls.models.model_names import PROVIDERS

        for name, summary in PROVIDERS.items():
            yield CompletionItem(f"{'.'.join(around)}.{name}", "module", 10, detail=summary)
        return
    before = "".join(f"{name}." for name in root)
    if root:
        yield CompletionItem(before.rstrip("."), "module", 5, detail="settings of promptls")
    for name, fact in model_keys_at(Project, ()).items():
        if fact.describe_type == "mapping":
            label = f"{before}{name}{'.' if model_keys_at(Project, (name, '')) else ''}"
            yield CompletionItem(label, "module", 10, detail=_short(fact))


def _keys(path: str, text: str, place: TomlPlace) -> Iterator[CompletionItem]:
    if place.keys == ("rules",):
        for rule in RULES:
            yield _key(rule.name, "text", rule.summary, text, place)
        return
    if place.keys[:1] == ("metrics",) and place.keys[2:] in {(), ("columns",)} and len(place.keys) > 1:
        for name, detail in metric_options(path, text, place.keys[:2]).items():
            yield _key(name, "" if place.keys[2:] == () else "text", detail, text, place)
    if place.keys[:1] == ("models",) and place.keys[2:] == ("parameters",):
        for name, detail in _PARAMETERS.items():
            yield _key(name, "", detail, text, place)
    for name, fact in model_keys_at(Project, place.keys).items():
        if fact.describe_type != "mapping" or place.keys:
            yield _key(name, fact.describe_type, _short(fact), text, place)


def _key(name: str, kind: str, detail: str, text: str, place: TomlPlace) -> CompletionItem:
    """Return a key with its `=`, unless present, and the quotes or brackets that its kind of value needs."""
    if place.quote or re.match(r"[ \t]*=", text[place.word.end :]):
        return CompletionItem(name, "property", 10, detail=detail)
    forms = {("text", "`"): '"$1"', ("list",): "[$1]", ("mapping",): "{ $1 }"}
    around = next((form for begins, form in forms.items() if kind.startswith(begins)), "$1")
    return CompletionItem(
        name, "property", 10, text=f"{name} = ", snippet=f"{name} = {around}$0", detail=detail
    )


def _values(snapshot: Snapshot, path: str, text: str, place: TomlPlace) -> Iterator[CompletionItem]:
    declared = declared_at(Project, place.keys)
    kind = declared.type if declared is not None else str
    kind = get_args(kind)[0] if get_origin(kind) is list else kind
    if kind is bool and not place.quote:
        yield from (CompletionItem(word, "keyword", 10) for word in ("true", "false"))
    elif kind is str or get_origin(kind) is Literal:
        for index, (name, detail) in enumerate(names(snapshot, path, text, place.keys, kind)):
            written = name if place.quote else f'"{name}"'
            yield CompletionItem(
                name, "enum", 10 + min(index, 80), text=written, detail=detail, filter_text=name
            )


def _short(fact: KeyFact) -> str:
    """Return the first words of a setting's description, for the completion list."""
    text = fact.documentation or fact.describe_type
    return text if len(text) <= _DESCRIBED else f"{text[: _DESCRIBED - 1]}…"


def explain_setting(snapshot: Snapshot, path: str, offset: int) -> Hover | None:
    """Return the hover text of the setting whose key, or whose table, is at `offset`."""
    template = snapshot.template(path)
    if template is None:
        return None
    text = template.source.text
    root = root_of(path)
    place = place_in(text, offset, root)
    if place is None:
        return None
    end = place.word.end
    if place.what == "table":
        end = text.find("]", place.word.start)
        names = names_in(text[place.word.start : end]) if end >= 0 else ()
        keys = names[len(root) :] if names[: len(root)] == root else ()
        span = Span(place.word.start, end)
    else:
        span = place.word
        name = text[span.start : span.end]
        if not name:
            return None
        if place.what == "value":
            description = value_text(place.keys, name)
            return Hover(span, description) if description else None
        keys = (*place.keys, name)
        if declared_at(Project, keys) is None and (description := _option_text(path, text, keys)):
            return Hover(span, description)
    return Hover(span, description) if keys and (description := setting_text(keys)) else None


def value_text(keys: Keys, name: str) -> str:
    """Return the description of a value, in Markdown; empty if nothing but its name is known."""
    last = keys[-1] if keys else ""
    if last == "use" or (last == "metrics" and len(keys) > 1):
        from promptls.metrics.builtin_metrics import BUILTIN_METRICS, page_of_metric

        return page_of_metric(name) if name in BUILTIN_METRICS else ""
    if last in {"provider", "models", "default_model", "judge", "model"}:
        from promptls.models.model_names import PROVIDERS

        provider = name.partition(":")[0]
        return f"**{provider}**: {PROVIDERS[provider]}" if provider in PROVIDERS else ""
    return ""


def _option_text(path: str, text: str, keys: Keys) -> str:
    """Return the description of a metric's option."""
    if keys[:1] != ("metrics",) or len(keys) != _OPTION:
        return ""
    detail = metric_options(path, text, keys[:2]).get(keys[2])
    use = value_beside(text, keys, "use")
    return (
        f"**{markdown_text(keys[2])}**: option of {code(use)}{', needed' if detail == 'needed' else ''}"
        if detail
        else ""
    )


def setting_names(path: str, label: str) -> tuple[str, ...]:
    """Return the keys of a completion item in the settings file at `path`, without the parent table's."""
    names = names_in(label)
    root = root_of(path)
    return names[len(root) :] if root and names[: len(root)] == root else names


def setting_text(keys: tuple[str, ...]) -> str:
    """Return the description of a setting, in Markdown; empty if there is none."""
    if keys[:1] == ("rules",) and len(keys) > 1:
        rule = RULES_BY_NAME.get(keys[1])
        return (
            f"**{rule.name}**: {rule.summary}\n\nits severity; by default {code(rule.severity)}"
            if rule
            else ""
        )
    declared = declared_at(Project, keys) if keys else None
    if declared is None:
        return ""
    default = declared.default
    by_default = f", by default {code(json.dumps(default))}" if default not in (None, {}, []) else ""
    kind = describe_type(declared.type)
    return f"**{markdown_text(keys[-1])}**: {kind}{by_default}\n\n{declared.documentation}"
