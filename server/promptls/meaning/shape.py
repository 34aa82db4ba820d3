"""What is known of a value by how a template uses it.

A shape never promises more than the uses prove: a value that is used as a list in one place
and as text in another is `any`, and so is one whose type the template itself tests.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final, Literal

ShapeKind = Literal["unknown", "scalar", "text", "number", "boolean", "list", "mapping", "callable", "any"]
_SCALARS: Final = frozenset({"scalar", "text", "number", "boolean"})
_CONTAINERS: Final = frozenset({"list", "mapping"})
_BY_TYPE: Final[dict[str, ShapeKind]] = {
    "string": "text",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "array": "list",
    "object": "mapping",
}


@dataclass(frozen=True, slots=True)
class Arguments:
    """How a function is called: the least and most positional arguments, and its keywords.

    `most` is None where arguments are unpacked, so that nobody can count them.
    """

    least: int
    most: int | None
    keywords: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Shape:
    """What is known of a value.

    `scalar` is text, a number or a boolean, `unknown` says that no use tells anything, and `any`
    that the uses fit no single type. `keys` are those that are read of a mapping, sorted by name;
    `element` is the shape of what a list holds, or of the values of a mapping whose keys are not
    written out. `optional` says that every use stands where the value may be missing: under an
    `if` that asks for it, behind `default`, or in a test such as `is defined`.
    """

    kind: ShapeKind = "unknown"
    keys: tuple[tuple[str, Shape], ...] = ()
    element: Shape | None = None
    arguments: Arguments | None = None
    optional: bool = False

    def key(self, name: str) -> Shape | None:
        """The shape of the value under a key; None where nothing is known of the key."""
        return next((shape for key, shape in self.keys if key == name), None)

    @property
    def words(self) -> str:
        """The shape as people read it: `list of mappings with author, content`."""
        return _words(self)


UNKNOWN: Final = Shape()


def merged(first: Shape, second: Shape) -> Shape:
    """The shape of a value that is used in both ways."""
    if first is second or first == second:
        return first
    kind = _merged_kind(first, second)
    optional = first.optional and second.optional
    if kind == "any":
        return Shape("any", optional=optional)
    if kind == "mapping":  # elements of what was taken for a list are the keys of a mapping
        first, second = _without_list_element(first), _without_list_element(second)
    keys = dict(first.keys)
    for name, shape in second.keys:
        keys[name] = merged(keys[name], shape) if name in keys else shape
    return Shape(
        kind,
        keys=tuple(sorted(keys.items())),
        element=_merged_both(first.element, second.element),
        arguments=_merged_arguments(first.arguments, second.arguments),
        optional=optional,
    )


def _without_list_element(shape: Shape) -> Shape:
    return replace(shape, element=None) if shape.kind == "list" else shape


def _merged_both(first: Shape | None, second: Shape | None) -> Shape | None:
    if first is None or second is None:
        return first or second
    return merged(first, second)


def _merged_kind(first: Shape, second: Shape) -> ShapeKind:
    kinds = {first.kind, second.kind} - {"unknown"}
    if not kinds:
        return "unknown"
    if len(kinds) == 1:
        return kinds.pop()
    if kinds <= _SCALARS:
        specific = kinds - {"scalar"}
        return specific.pop() if len(specific) == 1 else "any"
    if kinds & _CONTAINERS and kinds <= _CONTAINERS | {"scalar"}:
        # A container can be printed, and a mapping can be iterated over for its keys.
        if kinds >= _CONTAINERS:
            as_list = first if first.kind == "list" else second
            holds_keys = as_list.element is None or as_list.element.kind in {"unknown", "scalar", "text"}
            return "mapping" if holds_keys else "any"
        return (kinds & _CONTAINERS).pop()
    return "any"


def _merged_arguments(first: Arguments | None, second: Arguments | None) -> Arguments | None:
    if first is None or second is None:
        return first or second
    most = None if first.most is None or second.most is None else max(first.most, second.most)
    keywords = tuple(sorted({*first.keywords, *second.keywords}))
    return Arguments(min(first.least, second.least), most, keywords)


def declared_over(declared: Shape, used: Shape) -> Shape:
    """The shape of a value whose declaration goes before what its uses suggest."""
    kind = used.kind if declared.kind == "unknown" else declared.kind
    same = kind == used.kind
    keys = dict(used.keys) if same else {}
    for name, shape in declared.keys:
        keys[name] = declared_over(shape, keys[name]) if name in keys else shape
    element = declared.element
    if same and used.element is not None:
        element = used.element if element is None else declared_over(element, used.element)
    return Shape(
        kind,
        keys=tuple(sorted(keys.items())),
        element=element,
        arguments=used.arguments if same else None,
        optional=declared.optional or used.optional,
    )


def shape_of_schema(schema: Any, *, optional: bool = False) -> Shape:
    """What a JSON Schema says of a value; unknown where it says nothing, or no single type."""
    if not isinstance(schema, dict):
        return Shape(optional=optional)
    optional = optional or "default" in schema
    kind = _BY_TYPE.get(schema["type"], "unknown") if isinstance(schema.get("type"), str) else "unknown"
    if isinstance(schema.get("type"), list):
        named = {_BY_TYPE.get(each, "any") for each in schema["type"] if isinstance(each, str)} - {"any"}
        optional = optional or "null" in schema["type"]
        kind = named.pop() if len(named) == 1 else "scalar" if named and named <= _SCALARS else "any"
    properties = schema.get("properties")
    required = schema.get("required")
    needed = set(map(str, required)) if isinstance(required, list) else set()
    keys: tuple[tuple[str, Shape], ...] = ()
    if isinstance(properties, dict) and kind in {"unknown", "mapping"}:
        kind = "mapping"
        keys = tuple(
            sorted(
                (str(name), shape_of_schema(below, optional=bool(needed) and name not in needed))
                for name, below in properties.items()
            )
        )
    items = schema.get("items")
    element = shape_of_schema(items) if isinstance(items, dict) and kind in {"unknown", "list"} else None
    if element is not None:
        kind = "list"
    return Shape(kind, keys=keys, element=element, optional=optional)


def shape_of_value(value: Any) -> Shape:
    """The shape of a piece of data, with the elements of a list taken together."""
    if isinstance(value, bool):
        return Shape("boolean")
    if isinstance(value, (int, float)):
        return Shape("number")
    if isinstance(value, str):
        return Shape("text")
    if isinstance(value, dict):
        return Shape(
            "mapping", keys=tuple(sorted((str(key), shape_of_value(item)) for key, item in value.items()))
        )
    if isinstance(value, (list, tuple)):
        element: Shape | None = None
        for item in value:
            element = _merged_both(element, shape_of_value(item))
        return Shape("list", element=element)
    return UNKNOWN


@lru_cache(maxsize=4096)
def interned(shape: Shape) -> Shape:
    """The one object for all equal shapes, so that many of them are told apart at no cost."""
    return shape


_PLURALS: Final = {"text": "texts", "mapping": "mappings", "list": "lists", "number": "numbers",
                   "boolean": "booleans", "scalar": "scalars", "callable": "functions"}  # fmt: skip
_SINGULARS: Final = {
    "callable": "function",
    "unknown": "any",
    "any": "any",
    "scalar": "text, number or boolean",
}
_MOST_KEYS: Final = 8


def _words(shape: Shape, *, plural: bool = False) -> str:
    word = _PLURALS.get(shape.kind, "values") if plural else _SINGULARS.get(shape.kind, shape.kind)
    if shape.kind == "list" and shape.element is not None and shape.element.kind not in {"unknown", "any"}:
        return f"{word} of {_words(shape.element, plural=True)}"
    if shape.kind == "mapping" and shape.keys:
        names = [f"{name}?" if below.optional else name for name, below in shape.keys[:_MOST_KEYS]]
        more = ", …" if len(shape.keys) > _MOST_KEYS else ""
        return f"{word} with {', '.join(names)}{more}"
    if shape.kind == "callable" and shape.arguments is not None:
        return f"{word} of {_arguments_words(shape.arguments)}"
    return word


def _arguments_words(arguments: Arguments) -> str:
    least, most = arguments.least, arguments.most
    count = f"{least} or more" if most is None else str(least) if least == most else f"{least} to {most}"
    noun = "argument" if count == "1" else "arguments"
    keywords = f" and {', '.join(f'{name}=' for name in arguments.keywords)}" if arguments.keywords else ""
    return f"{count} {noun}{keywords}"
