"""Placeholder values for rendering, made from what is declared and known about an input."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from promptls.semantic.types.shape import Shape

_KEY: Final = "key"
"""The only key of a mapping whose keys are not literal."""
_TURNS: Final = 2
"""How many elements a list has: two show what a loop repeats."""
_MAX_DOUBLED: Final = 3
"""How many nested lists have that many elements; deeper ones have one, to avoid exponential growth."""
_PREFERRED: Final = ("list", "mapping")
"""The preferred kind of a value that may be of several kinds: the one that shows most of the template."""
_NOTHING: Final[Mapping[str, Any]] = {}


def placeholder(name: str, shape: Shape, schema: Mapping[str, Any] = _NOTHING) -> Any:
    """Return a value of this shape: text containing the name, a number, or a list or mapping of such values.

    A default, constant, example or `enum` in the JSON Schema takes precedence over the shape.
    """
    return _value(name, shape, schema, _MAX_DOUBLED)


def _value(name: str, shape: Shape, schema: Mapping[str, Any], doubled: int) -> Any:
    for key in ("default", "const"):
        if key in schema:
            return schema[key]
    for key in ("examples", "enum"):
        if isinstance(schema.get(key), list) and schema[key]:
            return schema[key][0]
    if shape.kind == "union":
        shape = next((each for each in shape.alternatives if each.kind in _PREFERRED), shape.alternatives[0])
    match shape.kind:
        case "number":
            return _number(schema)
        case "boolean":
            return True
        case "list":
            return _elements(name, shape, schema, doubled)
        case "mapping":
            return _mapping(name, shape, schema, doubled)
        case _:
            return None if schema.get("type") == "null" else f"<{name}>"


def _number(schema: Mapping[str, Any]) -> float:
    """Return two, so that a loop over a range repeats; one if the schema declares a type."""
    least = schema.get("minimum")
    if isinstance(least, (int, float)) and not isinstance(least, bool):
        return least
    return {"integer": 1, "number": 1.0}.get(str(schema.get("type")), _TURNS)


def _elements(name: str, shape: Shape, schema: Mapping[str, Any], doubled: int) -> list[Any]:
    count = _TURNS if doubled else 1
    below = shape.element or Shape()
    items = _mapping_under(schema, "items")
    return [_value(f"{name} {number}", below, items, max(doubled - 1, 0)) for number in range(1, count + 1)]


def _mapping(name: str, shape: Shape, schema: Mapping[str, Any], doubled: int) -> dict[str, Any]:
    declared = _mapping_under(schema, "properties")
    if not shape.keys:
        return {_KEY: _value(f"{name}.{_KEY}", shape.element or Shape(), _NOTHING, doubled)}
    return {
        key: _value(f"{name}.{key}", below, _mapping_under(declared, key), doubled)
        for key, below in shape.keys
        if below.kind != "callable"
    }


def _mapping_under(schema: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    below = schema.get(key)
    return below if isinstance(below, dict) else _NOTHING
