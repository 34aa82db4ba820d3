"""What a setting means, by its key in the settings file."""

from __future__ import annotations

import json
from typing import Final

from promptls.features.hover.hover import Hover, code
from promptls.features.settings_file.place import Keys, names_in, place_in, root_of
from promptls.features.settings_file.schema import Schema, schema_at, type_words
from promptls.features.settings_file.values import metric_options, value_beside
from promptls.text.span import Span
from promptls.workspace.snapshot import Snapshot

_OPTION: Final = 3
"""How many keys lead to an option of a metric: `metrics`, its name, and the option's."""


def explain_setting(snapshot: Snapshot, path: str, offset: int) -> Hover | None:
    """What is known of the setting whose key, or whose table, stands at `offset`."""
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
    """What a value means, in Markdown; empty where nothing more is known than its name."""
    last = keys[-1] if keys else ""
    if last == "use" or (last == "metrics" and len(keys) > 1):
        from promptls.metrics.registry import READY_METRICS, page_of_metric

        return page_of_metric(name) if name in READY_METRICS else ""
    if last in {"provider", "models", "default_model", "judge", "model"}:
        from promptls.models.registry import PROVIDERS

        provider = name.partition(":")[0]
        return f"**{provider}**: {PROVIDERS[provider]}" if provider in PROVIDERS else ""
    return ""


def _option_text(path: str, text: str, keys: Keys) -> str:
    """What an option of a metric is."""
    if keys[:1] != ("metrics",) or len(keys) != _OPTION:
        return ""
    detail = metric_options(path, text, keys[:2]).get(keys[2])
    use = value_beside(text, keys, "use")
    return f"**{keys[2]}**: option of {code(use)}{', needed' if detail == 'needed' else ''}" if detail else ""


def setting_names(path: str, label: str) -> tuple[str, ...]:
    """The keys of a completed item in the settings file at `path`: of a table without those around it."""
    names = names_in(label)
    root = root_of(path)
    return names[len(root) :] if root and names[: len(root)] == root else names


def setting_text(keys: tuple[str, ...]) -> str:
    """What a setting is, in Markdown; empty where there is none."""
    if keys[:1] == ("rules",) and len(keys) > 1:
        from promptls.rules.registry import RULES

        rule = next((rule for rule in RULES if rule.name == keys[1]), None)
        return (
            f"**{rule.name}**: {rule.summary}\n\nits severity; by default {code(rule.severity)}"
            if rule
            else ""
        )
    schema = schema_at(keys)
    return (
        f"**{keys[-1]}**: {type_words(schema)}{_default(schema)}\n\n{_description(schema)}" if schema else ""
    )


def _default(schema: Schema) -> str:
    default = schema.get("default")
    return f", by default {code(json.dumps(default))}" if default not in (None, {}, []) else ""


def _description(schema: Schema) -> str:
    return str(schema.get("description", ""))
