"""Values to render with where nobody has given any: made from what is declared and known of an input."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from promptls.semantic.types.shape import Shape

_KEY: Final = "key"
"""The one key of a mapping whose keys are not written out."""
_TURNS: Final = 2
"""How many elements a list has: two show what a loop repeats."""
_MAX_DOUBLED: Final = 3
"""How many lists inside each other have so many; those inside have one, or their number would explode."""
_PREFERRED: Final = ("list", "mapping")
"""What a value is that may be of several kinds: what shows most of the template."""
_NOTHING: Final[Mapping[str, Any]] = {}


def placeholder(name: str, shape: Shape, schema: Mapping[str, Any] = _NOTHING) -> Any:
    """Return a value of this shape: text that says the name, or a number, list or mapping of such values.

    A default, a constant, an example or an `enum` in the JSON Schema goes before what the shape says.
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
    """Return two, because that makes a loop over a range repeat; one where a type is declared."""
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
