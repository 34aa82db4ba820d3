"""What is known of a key of an input's value: its schema, how it is used, its value in the sample."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import Any, Final

from promptls.features.hover.hover import code, shown_value
from promptls.features.key_schemas import declared_schema
from promptls.features.sample_values import value_at
from promptls.meaning.parameter_roots import parameter_of
from promptls.meaning.paths import Path
from promptls.meaning.shape import Shape
from promptls.meaning.shapes import shape_under
from promptls.workspace.macro_calls import paths_from_inputs
from promptls.workspace.needs import needed_shapes
from promptls.workspace.snapshot import Snapshot

_MOST_GIVEN: Final = 3
"""Of how many calls of a macro it is told what they hand on."""


def key_texts(snapshot: Snapshot, path: str, way: Path, data: dict[str, Any], origin: str) -> Iterator[str]:
    """Paragraphs in Markdown; `data` is the sample, and `origin` says which one in words.

    Of a macro's parameter it is told what the calls hand to it.
    """
    parameter = parameter_of(way)
    if parameter is not None:
        given = paths_from_inputs(snapshot, path, way)
        if not given:
            yield f"{code(str(way[-1].key))}: part of the parameter {code(parameter.name)}"
        for each in given[:_MOST_GIVEN]:
            of_sample = (data, origin) if each.path == path else ({}, "")
            yield from key_texts(snapshot, each.path, each.way, *of_sample)
        return
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
