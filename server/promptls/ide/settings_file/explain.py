"""What a setting means, by its key in the settings file."""

from __future__ import annotations

import json
from typing import Final

from promptls.ide.hover.hover import Hover, code
from promptls.ide.settings_file.complete import metric_options, value_beside
from promptls.ide.settings_file.schema import Keys, Schema, names_in, place_in, root_of, schema_at, type_words
from promptls.text.escape import markdown_text
from promptls.text.positions import Span
from promptls.workspace.snapshot import Snapshot

_OPTION: Final = 3
"""How many keys lead to an option of a metric: `metrics`, its name, and the option's."""


def explain_setting(snapshot: Snapshot, path: str, offset: int) -> Hover | None:
    """Return what is known of the setting whose key, or whose table, stands at `offset`."""
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
            said = value_text(place.keys, name)
            return Hover(span, said) if said else None
        keys = (*place.keys, name)
        if not schema_at(keys) and (said := _option_text(path, text, keys)):
            return Hover(span, said)
    return Hover(span, said) if keys and (said := setting_text(keys)) else None


def value_text(keys: Keys, name: str) -> str:
    """Return what a value means, in Markdown; empty where nothing more is known than its name."""
    last = keys[-1] if keys else ""
    if last == "use" or (last == "metrics" and len(keys) > 1):
        from promptls.metrics.registry import BUILTIN_METRICS, page_of_metric

        return page_of_metric(name) if name in BUILTIN_METRICS else ""
    if last in {"provider", "models", "default_model", "judge", "model"}:
        from promptls.models.registry import PROVIDERS

        provider = name.partition(":")[0]
        return f"**{provider}**: {PROVIDERS[provider]}" if provider in PROVIDERS else ""
    return ""


def _option_text(path: str, text: str, keys: Keys) -> str:
    """Return what an option of a metric is."""
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
    """Return what a setting is, in Markdown; empty where there is none."""
    if keys[:1] == ("rules",) and len(keys) > 1:
        from promptls.lint.registry import RULES

        rule = next((rule for rule in RULES if rule.name == keys[1]), None)
        return (
            f"**{rule.name}**: {rule.summary}\n\nits severity; by default {code(rule.severity)}"
            if rule
            else ""
        )
    schema = schema_at(keys)
    return (
        f"**{markdown_text(keys[-1])}**: {type_words(schema)}{_default(schema)}\n\n{_description(schema)}"
        if schema
        else ""
    )


def _default(schema: Schema) -> str:
    default = schema.get("default")
    return f", by default {code(json.dumps(default))}" if default not in (None, {}, []) else ""


def _description(schema: Schema) -> str:
    return str(schema.get("description", ""))
