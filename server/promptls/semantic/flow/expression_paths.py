"""The paths of expressions: `user.name`, `history[0]`, `(name or "you")`, `rows | batch(2) | first`."""

from __future__ import annotations

from typing import Final

from promptls.semantic.flow.paths import (
    Each,
    Path,
    Step,
    View,
    ViewKind,
    extended,
    with_optional_end,
    without_views,
)
from promptls.syntax.jinja.expected import BY_ELEMENTS_KEY
from promptls.syntax.jinja.nodes import (
    Attribute,
    Call,
    Constant,
    Expression,
    Filter,
    Item,
    Keyword,
    Name,
    Operation,
    Slice,
    Test,
)

SAME_LIST: Final = frozenset(
    {"list", "sort", "reverse", "unique", "select", "reject", "selectattr", "rejectattr"}
)
"""Filters that return elements of the list that they are applied to."""
ONE_ELEMENT: Final = frozenset({"first", "last", "random", "min", "max"})
"""Filters that return one element of the list."""
DEFAULTS: Final = frozenset({"default", "d"})
VIEWS: Final[dict[str, ViewKind]] = {"items": "entries", "values": "values", "keys": "keys"}
"""Methods of mappings that return a view of it."""
_TURNS: Final = frozenset({"index", "index0", "revindex", "revindex0"})
_EMPTY: Final[tuple[object, ...]] = (None, "", 0)


def path_of(node: Expression) -> Path:
    """Return the path to an expression's value; empty if it is not an access path from a variable."""
    match node:
        case Name(name=name):
            return (Step(name),)
        case Attribute(target=target, name=name) if name:
            return extended(path_of(target), Step(Each.INDEX if name.isdecimal() else name))
        case Item(target=target, key=Constant(value=str() as key)):
            return extended(path_of(target), Step(key))
        case Item(target=target, key=Slice()):
            return path_of(target)
        case Item(target=target, key=key) if _is_index(key):
            return extended(path_of(target), Step(Each.INDEX))
        case Item(target=target, key=Name(name=name)):
            return extended(path_of(target), Step(View("looked up", (name,))))
        case Filter(target=target) if target is not None:
            return _through_filter(path_of(target), node)
        case Call(function=Attribute(target=target, name=name), arguments=()) if name in VIEWS:
            return extended(path_of(target), Step(View(VIEWS[name])))
        case Call(
            function=Attribute(target=target, name="get"), arguments=(Constant(value=str() as key), *rest)
        ):
            return extended(path_of(target), Step(key, optional=True, keeps_null=bool(rest)))
        case Call(
            function=Attribute(target=target, name="pop"), arguments=(Constant(value=str() as key), *rest)
        ):
            return extended(path_of(target), Step(key, optional=bool(rest), keeps_null=bool(rest)))
        case Operation(operators=("or", *_), operands=(first, *_)):
            return with_optional_end(path_of(first))
        case _:
            return ()


def _is_index(node: Expression) -> bool:
    """Return whether a key between brackets is a number: literal, or a loop's index."""
    if isinstance(node, Operation) and len(node.operands) == 1:
        node = node.operands[0]
    if isinstance(node, Operation) and node.operators in {("+",), ("-",)}:
        return all(map(_is_index, node.operands))
    if isinstance(node, Attribute):
        return isinstance(node.target, Name) and node.target.name == "loop" and node.name in _TURNS
    return isinstance(node, Constant) and type(node.value) is int


def _through_filter(path: Path, node: Filter) -> Path:
    name = node.name
    if name in DEFAULTS:
        return with_optional_end(path, keeps_null=not _replaces_false(node))
    if name in SAME_LIST:
        return path
    if name in ONE_ELEMENT:
        return extended(path, Step(Each.INDEX))
    if name in {"batch", "slice"}:
        return extended(path, Step(View("pieces")))
    if name in {"items", "dictsort"}:
        return extended(path, Step(View("entries")))
    if name in {"groupby", "map"} and (key := named_key(node)):
        kind: ViewKind = "groups" if name == "groupby" else "keyed"
        return extended(path, Step(View(kind, tuple(key.split(".")))))
    return ()


def _replaces_false(node: Filter) -> bool:
    """Return whether a `default` also replaces None, according to its second argument."""
    for index, argument in enumerate(node.arguments):
        value = argument.value if isinstance(argument, Keyword) else argument
        if index == 1 or (isinstance(argument, Keyword) and argument.name == "boolean"):
            return not isinstance(value, Constant) or bool(value.value)
    return False


def named_key(node: Filter) -> str:
    """Return the key of each element that a filter uses, in its first argument or in `attribute=`."""
    for index, argument in enumerate(node.arguments):
        value = argument.value if isinstance(argument, Keyword) else argument
        names = argument.name == "attribute" if isinstance(argument, Keyword) else index == 0
        if not isinstance(value, Constant) or not isinstance(value.value, str):
            continue
        if names and (node.name in BY_ELEMENTS_KEY or isinstance(argument, Keyword)):
            return value.value
    return ""


def asked_for(test: Expression) -> tuple[Path, ...]:
    """Return the values that exist whenever a condition is true."""
    match test:
        case Operation(operators=("and", *_), operands=operands):
            return tuple(path for operand in operands for path in asked_for(operand))
        case Operation(operators=("not", *rest), operands=(operand,)) if not len(rest) % 2:
            return refused_by(operand)
        case Operation(operators=("in",), operands=(Constant(value=str() as key), target)):
            return (*_some(path_of(target)), *_holding(target, key))
        case Operation(operators=("==" | ">" | ">=" | "in",), operands=operands):
            return _sized(*operands)
        case Operation(operators=("!=",), operands=(first, Constant(value=value))) if value in _EMPTY:
            return _sized(first)
        case Test(name="defined", target=target):
            return _some(_keeping_null(path_of(target)))
        case Filter(name="length" | "count" | "trim", target=target):
            return _some(path_of(target)) if target is not None else ()
        case Test(name="string" | "number" | "mapping" | "true", target=target):
            return _some(path_of(target))
        case _:
            return _some(path_of(test))


def refused_by(test: Expression) -> tuple[Path, ...]:
    """Return the values that exist whenever a condition is false."""
    match test:
        case Operation(operators=("not", *rest), operands=(operand,)) if not len(rest) % 2:
            return asked_for(operand)
        case Operation(operators=("or", *_), operands=operands):
            return tuple(path for operand in operands for path in refused_by(operand))
        case Operation(operators=("==",), operands=(first, Constant(value=value))) if value in _EMPTY:
            return _sized(first)
        case Operation(operators=("not in",), operands=(Constant(value=str() as key), target)):
            return _holding(target, key)
        case Test(name="none", target=target):
            return _some(path_of(target))
        case Test(name="undefined", target=target):
            return _some(_keeping_null(path_of(target)))
        case _:
            return ()


def _holding(target: Expression, key: str) -> tuple[Path, ...]:
    """Return the value under a key of a mapping that contains it."""
    return _some(_keeping_null(extended(path_of(target), Step(key))))


def _keeping_null(path: Path) -> Path:
    """Return the path to a value that exists, and may be None."""
    return (*path[:-1], path[-1]._replace(keeps_null=True)) if path else ()


def _sized(*operands: Expression) -> tuple[Path, ...]:
    """Return the values that are compared, directly or by their length."""
    found: list[Path] = []
    for operand in operands:
        is_size = isinstance(operand, Filter) and operand.name in {"length", "count"}
        sized = operand.target if isinstance(operand, Filter) and is_size else operand
        found += _some(path_of(sized)) if sized is not None else ()
    return tuple(found)


def _some(path: Path) -> tuple[Path, ...]:
    path = without_views(path)
    return (path,) if path else ()
