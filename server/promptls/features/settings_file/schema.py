"""What the JSON Schema of the settings says at a place."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

Schema = Mapping[str, Any]


@lru_cache(maxsize=1)
def settings_schema() -> Schema:
    """The JSON Schema of all settings."""
    from promptls.settings.project import Project

    return Project.model_json_schema()


def schema_at(keys: tuple[str, ...]) -> Schema:
    """The schema of the value that the keys lead to, through lists; empty where there is no such setting."""
    schema = _resolved(settings_schema())
    for key in keys:
        properties = schema.get("properties", {})
        below = properties.get(key) or schema.get("additionalProperties")
        if not isinstance(below, dict):
            return {}
        schema = _resolved(below)
    return schema


def keys_at(keys: tuple[str, ...]) -> Mapping[str, Schema]:
    """The keys that the mapping at `keys` may have, with their schemas."""
    return {name: _resolved(below) for name, below in schema_at(keys).get("properties", {}).items()}


def item_schema(schema: Schema) -> Schema:
    """The schema of a list's items; of anything else the schema itself."""
    items = schema.get("items")
    return _resolved(items) if isinstance(items, dict) else schema


def _resolved(schema: Schema) -> Schema:
    """The schema with what it refers to, and of two choices that which is not nothing."""
    described = {key: schema[key] for key in ("description", "default") if key in schema}
    for choice in schema.get("anyOf", ()):
        if choice.get("type") != "null":
            return {**_resolved(choice), **described}
    reference = schema.get("$ref")
    if isinstance(reference, str):
        named = settings_schema().get("$defs", {}).get(reference.rpartition("/")[2], {})
        return {**_resolved(named), **described}
    return schema


def type_words(schema: Schema) -> str:
    """The type of a value as people read it."""
    if "enum" in schema:
        return "one of " + ", ".join(f"`{each}`" for each in schema["enum"])
    kind = schema.get("type", "any value")
    if kind == "array":
        return f"list of {item_schema(schema).get('type', 'value')}s"
    return {"object": "table", "integer": "whole number", "boolean": "true or false"}.get(kind, str(kind))
