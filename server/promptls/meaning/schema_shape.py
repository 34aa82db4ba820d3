"""The shapes of values by what is declared of them, and of values themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from promptls.meaning.shape import (
    NOWHERE,
    SCALARS,
    UNKNOWN,
    Shape,
    ShapeKind,
    alternatives_of,
    merged,
    merged_both,
    union_of,
)

_BY_TYPE: Final[dict[str, ShapeKind]] = {
    "string": "text",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "array": "list",
    "object": "mapping",
}
_CHOICES: Final = ("anyOf", "oneOf")


def declared_over(declared: Shape, used: Shape) -> Shape:
    """The shape of a value whose declaration goes before what its uses suggest.

    `used` is settled. Of a declared union each alternative is filled in by the uses of its kind.
    """
    optional = declared.optional or used.optional
    if declared.kind == "unknown":
        filled = [_filled(each, each) for each in alternatives_of(used)]
    elif declared.kind == "any":
        return Shape("any", optional=optional)
    else:
        filled = [_filled(each, used.alternative(each.kind) or UNKNOWN) for each in alternatives_of(declared)]
    return union_of(
        filled,
        optional=optional,
        tested=used.tested,
        needed=NOWHERE if declared.optional else used.needed,
        refuses_null=used.refuses_null and not declared.optional,
    )


def _filled(declared: Shape, used: Shape) -> Shape:
    """A declared shape of one kind with what the uses of that kind add to it."""
    keys = dict(used.keys)
    for name, shape in declared.keys:
        keys[name] = declared_over(shape, keys[name]) if name in keys else shape
    element = declared.element
    if used.element is not None:
        element = used.element if element is None else declared_over(element, used.element)
    return Shape(declared.kind, keys=tuple(sorted(keys.items())), element=element, arguments=used.arguments)


def shape_of_schema(schema: Any, *, optional: bool = False) -> Shape:
    """What a JSON Schema says of a value; unknown where it says nothing, or nothing that is understood."""
    if not isinstance(schema, Mapping):
        return Shape(optional=optional)
    optional = optional or "default" in schema
    for key in _CHOICES:
        if isinstance(schema.get(key), list) and "type" not in schema:
            return _of_choices(schema[key], optional=optional)
    types = schema.get("type")
    named = [types] if isinstance(types, str) else types if isinstance(types, list) else []
    optional = optional or (isinstance(types, list) and "null" in types)
    kinds = {_BY_TYPE.get(each, "any") for each in named if isinstance(each, str) and each != "null"}
    if "any" in kinds:
        return Shape("any" if isinstance(types, list) else "unknown", optional=optional)
    if not kinds and isinstance(schema.get("properties"), dict):
        kinds = {"mapping"}
    if not kinds and isinstance(schema.get("items"), dict):
        kinds = {"list"}
    if kinds == SCALARS - {"scalar"}:
        kinds = {"scalar"}
    return union_of([_of_kind(kind, schema) for kind in kinds], optional=optional)


def _of_choices(choices: list[Any], *, optional: bool) -> Shape:
    """The shape of a value of one of some schemas; unknown where one of them says no type."""
    found: Shape | None = None
    for choice in choices:
        if isinstance(choice, Mapping) and choice.get("type") == "null":
            optional = True
            continue
        shape = shape_of_schema(choice)
        if shape.kind in {"unknown", "any"}:
            return Shape(optional=optional)
        optional = optional or shape.optional
        found = merged_both(found, shape)
    return union_of(alternatives_of(found or UNKNOWN), optional=optional)


def _of_kind(kind: ShapeKind, schema: Mapping[str, Any]) -> Shape:
    """What a schema says of values of one kind."""
    if kind == "mapping":
        return Shape(kind, keys=tuple(sorted(_properties(schema))))
    items = schema.get("items")
    if kind == "list" and isinstance(items, dict):
        return Shape(kind, element=shape_of_schema(items))
    return Shape(kind)


def _properties(schema: Mapping[str, Any]) -> Iterator[tuple[str, Shape]]:
    properties = schema.get("properties")
    required = schema.get("required")
    needed = set(map(str, required)) if isinstance(required, list) else set()
    for name, below in (properties if isinstance(properties, dict) else {}).items():
        yield str(name), shape_of_schema(below, optional=bool(needed) and name not in needed)


def shape_of_value(value: Any) -> Shape:
    """The shape of a piece of data, with the elements of a list taken together."""
    if isinstance(value, bool):
        return Shape("boolean")
    if isinstance(value, (int, float)):
        return Shape("number")
    if isinstance(value, str):
        return Shape("text")
    if isinstance(value, dict):
        keys: dict[str, Shape] = {}
        for key, item in value.items():
            shape = shape_of_value(item)
            keys[str(key)] = merged(keys[str(key)], shape) if str(key) in keys else shape
        return Shape("mapping", keys=tuple(sorted(keys.items())))
    if isinstance(value, (list, tuple)):
        element: Shape | None = None
        for item in value:
            element = merged_both(element, shape_of_value(item))
        return Shape("list", element=element)
    return UNKNOWN
