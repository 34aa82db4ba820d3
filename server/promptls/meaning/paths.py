"""The ways from variables to values: `user.name`, `history[0]`, `(name or "you")`."""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple, TypeAlias

from promptls.syntax.jinja.nodes import (
    Attribute,
    Call,
    Constant,
    Expression,
    Filter,
    Item,
    Name,
    Operation,
    Slice,
    Test,
)


class Each(Enum):
    """A step to something without a name of its own."""

    ELEMENT = "element"
    """An element of a list."""
    VALUE = "value"
    """The value under a key of a mapping that is not written out."""
    INDEX = "index"
    """An element by its number, of a list or of a text."""


class Step(NamedTuple):
    """One step of a path; `optional` where the value behind it may be missing."""

    key: str | Each
    optional: bool = False


Path: TypeAlias = tuple[Step, ...]
"""The way from a variable, whose name is the first step's key, to a value."""

SAME_LIST: Final = frozenset(
    {"list", "sort", "reverse", "unique", "select", "reject", "selectattr", "rejectattr"}
)
"""Filters that give back elements of the list that they are given."""
ONE_ELEMENT: Final = frozenset({"first", "last", "random", "min", "max"})
"""Filters that give back one of them."""
DEFAULTS: Final = frozenset({"default", "d"})
_EMPTY: Final[tuple[object, ...]] = (None, "", 0)


def path_of(node: Expression) -> Path:
    """The path to what an expression gives; empty where it is no way from a variable."""
    match node:
        case Name(name=name):
            return (Step(name),)
        case Attribute(target=target, name=name) if name:
            return _longer(path_of(target), Step(name))
        case Item(target=target, key=Constant(value=str() as key)):
            return _longer(path_of(target), Step(key))
        case Item(target=target, key=Slice()):
            return path_of(target)
        case Item(target=target, key=key) if _is_index(key):
            return _longer(path_of(target), Step(Each.INDEX))
        case Filter(target=target, name=name) if target is not None:
            return _through_filter(path_of(target), name)
        case Call(
            function=Attribute(target=target, name="get"), arguments=(Constant(value=str() as key), *_)
        ):
            return _longer(path_of(target), Step(key, optional=True))
        case Call(
            function=Attribute(target=target, name="pop"), arguments=(Constant(value=str() as key), *rest)
        ):
            return _longer(path_of(target), Step(key, optional=bool(rest)))
        case Operation(operators=("or", *_), operands=(first, *_)):
            return with_optional_end(path_of(first))
        case _:
            return ()


def _longer(path: Path, step: Step) -> Path:
    return (*path, step) if path else ()


def _is_index(node: Expression) -> bool:
    if isinstance(node, Operation) and len(node.operands) == 1:
        node = node.operands[0]
    return isinstance(node, Constant) and type(node.value) is int


def _through_filter(path: Path, name: str) -> Path:
    if name in DEFAULTS:
        return with_optional_end(path)
    if name in SAME_LIST:
        return path
    return _longer(path, Step(Each.INDEX)) if name in ONE_ELEMENT else ()


def with_optional_end(path: Path) -> Path:
    """The path to a value that may be missing."""
    return (*path[:-1], path[-1]._replace(optional=True)) if path else ()


def under_question(path: Path, asked: Path) -> Path:
    """The path where the value at `asked` has been asked for: on the way through it nothing is missed."""
    last = len(asked) - 1
    if len(path) <= last or any(step.key != other.key for step, other in zip(path, asked, strict=False)):
        return path
    return (*path[:last], path[last]._replace(optional=True), *path[last + 1 :])


def asked_for(test: Expression) -> tuple[Path, ...]:
    """The values that are there wherever a condition holds."""
    match test:
        case Operation(operators=("and", *_), operands=operands):
            return tuple(path for operand in operands for path in asked_for(operand))
        case Operation(operators=("not", *rest), operands=(operand,)) if not len(rest) % 2:
            return refused_by(operand)
        case Operation(operators=("==" | ">" | ">=" | "in",), operands=operands):
            return _sized(*operands)
        case Operation(operators=("!=",), operands=(first, Constant(value=value))) if value in _EMPTY:
            return _sized(first)
        case Test(name="defined", target=target) | Filter(name="length" | "count" | "trim", target=target):
            return _some(path_of(target)) if target is not None else ()
        case Test(name="string" | "number" | "mapping" | "true", target=target):
            return _some(path_of(target))
        case _:
            return _some(path_of(test))


def refused_by(test: Expression) -> tuple[Path, ...]:
    """The values that are there wherever a condition does not hold."""
    match test:
        case Operation(operators=("not", *rest), operands=(operand,)) if not len(rest) % 2:
            return asked_for(operand)
        case Operation(operators=("or", *_), operands=operands):
            return tuple(path for operand in operands for path in refused_by(operand))
        case Operation(operators=("==",), operands=(first, Constant(value=value))) if value in _EMPTY:
            return _sized(first)
        case Test(name="none" | "undefined", target=target):
            return _some(path_of(target))
        case _:
            return ()


def _sized(*operands: Expression) -> tuple[Path, ...]:
    """The values that are compared, themselves or by their length."""
    found: list[Path] = []
    for operand in operands:
        is_size = isinstance(operand, Filter) and operand.name in {"length", "count"}
        sized = operand.target if isinstance(operand, Filter) and is_size else operand
        found += _some(path_of(sized)) if sized is not None else ()
    return tuple(found)


def _some(path: Path) -> tuple[Path, ...]:
    return (path,) if path else ()
