"""The JSON Schema that is declared of a value inside of an input."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from promptls.meaning.header import InputKey
from promptls.meaning.paths import Each, Path
from promptls.workspace.snapshot import Snapshot


def schema_along(inputs: Iterable[InputKey], path: Path) -> dict[str, Any]:
    """The JSON Schema of the value at a path from one of the inputs; empty where none is declared."""
    schema: Any = next((key.schema for key in inputs if path and key.name == path[0].key), {})
    for step in path[1:]:
        if not isinstance(schema, dict):
            return {}
        properties = schema.get("properties")
        if isinstance(step.key, str):
            schema = properties.get(step.key) if isinstance(properties, dict) else None
        else:
            schema = schema.get("additionalProperties" if step.key is Each.VALUE else "items")
    return schema if isinstance(schema, dict) else {}


def declared_schema(snapshot: Snapshot, path: str, way: Path) -> tuple[str, dict[str, Any]]:
    """The file that declares the value at `way`, the one at `path` or an entry template, and its schema."""
    for candidate in dict.fromkeys([path, *snapshot.entries(path)]):
        template = snapshot.template(candidate)
        declared = template.declarations.inputs if template is not None else None
        schema = schema_along(declared or (), way)
        if schema:
            return candidate, schema
    return path, {}
