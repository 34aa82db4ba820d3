"""What operators, filters, tests and methods want of the values that they are given."""

from __future__ import annotations

from typing import Final

from promptls.meaning.expression_paths import DEFAULTS, ONE_ELEMENT, SAME_LIST, named_key
from promptls.meaning.shape import UNKNOWN, Arguments, Shape
from promptls.syntax.jinja.nodes import (
    Call,
    Collection,
    Constant,
    Expression,
    Filter,
    Keyword,
    Operation,
)

SCALAR: Final = Shape("scalar")
SEQUENCE: Final = Shape("sequence")
CONTAINER: Final = Shape("container")
TEXT: Final = Shape("text")
NUMBER: Final = Shape("number")
BOOLEAN: Final = Shape("boolean")
LIST: Final = Shape("list")
_PRINTED: Final = Shape("list", element=SCALAR)
_NUMBERS: Final = Shape("list", element=NUMBER)
MAPPING: Final = Shape("mapping")
ANY: Final = Shape("any")


_TAKES_LIST: Final = frozenset({"join", "map", "batch", "slice", "sum", "groupby"})
_TAKES_TEXT: Final = frozenset(
    {"capitalize", "center", "indent", "lower", "replace", "striptags", "title", "trim", "truncate",
     "upper", "urlize", "wordcount", "wordwrap", "e", "escape", "forceescape", "safe", "string",
     "int", "float"}
)  # fmt: skip
"""Filters that take text, and make text of whatever else they are given."""
TEXT_FILTERS: Final = _TAKES_TEXT - {"int", "float", "wordcount"} | {"join", "tojson", "format"}
"""Filters that give text."""
FILTER_NEEDS: Final = {
    **dict.fromkeys(sorted(SAME_LIST | _TAKES_LIST), "iterated"),
    **dict.fromkeys(("abs", "round"), "number"),
    **dict.fromkeys(("dictsort", "items"), "mapping"),
}
"""What a filter fails without, as `Use.need` says it."""
_MAPPING_METHODS: Final = frozenset({"items", "keys", "values", "get"})
_LIST_METHODS: Final = frozenset({"append", "extend", "insert", "sort", "reverse"})
_TEXT_METHODS: Final = frozenset(
    {"capitalize", "endswith", "format", "isdigit", "join", "lower", "lstrip", "partition", "removeprefix",
     "removesuffix", "replace", "rstrip", "split", "splitlines", "startswith", "strip", "title", "upper",
     "zfill"}
)  # fmt: skip
_EITHER_METHODS: Final = frozenset({"copy", "count", "index", "pop"})
_ORDER: Final = frozenset({"<", "<=", ">", ">="})
_COMPARING: Final = frozenset(
    {
        "==",
        "eq",
        "equalto",
        "!=",
        "ne",
        ">",
        "gt",
        "greaterthan",
        ">=",
        "ge",
        "<",
        "lt",
        "lessthan",
        "<=",
        "le",
    }
)
"""The tests that compare with their argument."""
_TESTED_WITH: Final = 2
"""The number of the argument of `selectattr` that its test is given."""
_ARITHMETIC: Final = frozenset({"-", "/", "//", "**"})
TEST_SHAPES: Final = {
    "true": BOOLEAN, "false": BOOLEAN, "odd": NUMBER, "even": NUMBER, "divisibleby": NUMBER,
}  # fmt: skip
_BY_FILTER: Final = {
    "abs": NUMBER, "round": NUMBER, "filesizeformat": NUMBER, "dictsort": MAPPING, "items": MAPPING,
}  # fmt: skip
METHOD_SHAPES: Final = {
    **dict.fromkeys(_MAPPING_METHODS, MAPPING),
    **dict.fromkeys(_LIST_METHODS, LIST),
    **dict.fromkeys(_TEXT_METHODS, TEXT),
    **dict.fromkeys(_EITHER_METHODS, UNKNOWN),
}


def operand_shapes(node: Operation) -> list[Shape]:
    """What an operator other than `and`, `or` and `not` wants of each operand."""
    if len(node.operators) == 1 and len(node.operands) > 1:
        left, right = node.operands
        operator = node.operators[0]
        return [_beside(operator, right, left), _beside(operator, left, right, is_right=True)]
    is_sign = len(node.operands) == 1
    return [NUMBER if is_sign else UNKNOWN for _ in node.operands]


def operand_need(node: Operation, shape: Shape) -> str:
    """What an operand of this shape must be, or the operation fails; empty where any type will do."""
    operator = node.operators[0] if len(node.operators) == 1 else ""
    if operator in _ARITHMETIC and shape == NUMBER:
        return "number"
    if operator in _ORDER or operator == "+":
        return {"number": "number", "text": "text"}.get(shape.kind, "")
    return ""


def _beside(operator: str, other: Expression, own: Expression, *, is_right: bool = False) -> Shape:
    """What an operand must be whose neighbour is `other`."""
    known = _constant_shape(other)
    if operator == "~":
        return SCALAR
    if operator in {"==", "!="}:
        return known or UNKNOWN
    if operator in {"in", "not in"}:
        is_texts = (
            isinstance(other, Collection)
            and bool(other.items)
            and all(isinstance(item, Constant) and isinstance(item.value, str) for item in other.items)
        )
        return CONTAINER if is_right else TEXT if is_texts else UNKNOWN
    if operator in _ARITHMETIC or (operator in _ORDER and known is not None):
        return known if known is not None and operator in _ORDER else NUMBER
    if operator == "*":
        return NUMBER
    if operator == "%" and isinstance(own, Constant):
        return UNKNOWN
    if operator == "%":
        return NUMBER if known is NUMBER and not is_right else UNKNOWN
    if operator == "+":
        is_list = isinstance(other, Collection) and other.kind == "list"
        return known or _summed(other) or (LIST if is_list else UNKNOWN)
    return UNKNOWN


def _summed(node: Expression) -> Shape | None:
    """The text or number that an expression certainly gives to a sum; None where it may give another type."""
    match node:
        case Filter(name=name) if name in TEXT_FILTERS:
            return TEXT
        case Operation(operators=("~",)):
            return TEXT
        case Operation(operators=("+",), operands=(left, right)):
            return _constant_shape(left) or _constant_shape(right) or _summed(left) or _summed(right)
        case _:
            return None


def _constant_shape(node: Expression) -> Shape | None:
    if isinstance(node, Constant):
        if isinstance(node.value, bool):
            return BOOLEAN
        if isinstance(node.value, (int, float)):
            return NUMBER
        if isinstance(node.value, str):
            return TEXT
    return None


def filter_shape(node: Filter) -> Shape | None:
    """What a filter says of the value that it is given; None where it says nothing."""
    name = node.name
    if name in DEFAULTS:
        first = node.arguments[0] if node.arguments else None
        if isinstance(first, Collection):
            return MAPPING if first.kind == "dict" else LIST
        known = _constant_shape(first) if first is not None else None
        return known if known in (NUMBER, BOOLEAN) else UNKNOWN
    if name == "join" and not named_key(node):
        return _PRINTED
    if name == "sum" and not named_key(node):
        return _NUMBERS
    if name == "map" and _filter_named(node) in _TAKES_TEXT:
        return _PRINTED
    if name in ONE_ELEMENT and not named_key(node):
        return SEQUENCE
    if name in SAME_LIST | _TAKES_LIST or (name in ONE_ELEMENT and named_key(node)):
        return LIST
    if name in _TAKES_TEXT:
        return SCALAR
    return _BY_FILTER.get(name, UNKNOWN)


def shape_of_named_key(node: Filter) -> Shape:
    """What a filter that goes by a key of each element says of what is under that key."""
    if node.name == "sum":
        return NUMBER
    if node.name in {"sort", "groupby", "min", "max"}:
        return SCALAR
    if node.name in {"selectattr", "rejectattr"} and len(node.arguments) > _TESTED_WITH:
        test, value = node.arguments[1:3]
        if isinstance(test, Constant) and test.value in _COMPARING:
            return _constant_shape(value) or UNKNOWN
    return UNKNOWN


def _filter_named(node: Filter) -> object:
    """The filter that `map` is given by its name."""
    first = node.arguments[0] if node.arguments else None
    return first.value if isinstance(first, Constant) else None


def arguments_of(node: Call) -> Arguments:
    """How many arguments a call passes, and under which names."""
    unpacks = any(isinstance(each, Keyword) and each.name in {"*", "**"} for each in node.arguments)
    count = sum(not isinstance(each, Keyword) for each in node.arguments)
    keywords = {each.name for each in node.arguments if isinstance(each, Keyword)} - {"*", "**"}
    return Arguments(count, None if unpacks else count, tuple(sorted(keywords)))
