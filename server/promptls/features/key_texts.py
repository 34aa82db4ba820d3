"""What is known of a key of an input's value: its schema, how it is used, its value in the sample."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path as FilePath
from typing import Any

from promptls.features.hover.hover import code, shown_value
from promptls.features.sample_values import value_at
from promptls.meaning.header import InputKey
from promptls.meaning.paths import Path
from promptls.meaning.shape import Shape
from promptls.meaning.shapes import shape_under
from promptls.workspace.needs import needed_shapes
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
            schema = schema.get("items")
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


def key_texts(snapshot: Snapshot, path: str, way: Path, data: dict[str, Any], origin: str) -> Iterator[str]:
    """Paragraphs in Markdown; `data` is the sample, and `origin` says which one in words."""
    where, schema = declared_schema(snapshot, path, way)
    shape = shape_under(needed_shapes(snapshot, path), way)
    kind = schema.get("type")
    words = f", {kind}" if isinstance(kind, str) else _used_as(shape)
    declared = f", declared in {code(FilePath(where).name)}" if schema else ""
    name = str(way[-1].key) if isinstance(way[-1].key, str) else "element"
    yield f"{code(name)}: part of the input {code(str(way[0].key))}{words}{declared}"
    if schema.get("description"):
        yield str(schema["description"])
    if isinstance(schema.get("enum"), list):
        yield f"one of {', '.join(code(shown_value(value)) for value in schema['enum'])}"
    if "default" in schema:
        yield f"default: {code(shown_value(schema['default']))}"
    value = value_at(data, way)
    if value is not None:
        yield f"in {origin}: {code(shown_value(value))}"


def _used_as(shape: Shape | None) -> str:
    return f", used as {shape.words}" if shape is not None and shape.kind not in {"unknown", "any"} else ""
