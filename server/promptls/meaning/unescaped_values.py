"""Which values in an expression are printed with their line breaks, so that they become lines of the YAML."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from promptls.meaning.expression_paths import SAME_LIST
from promptls.syntax.jinja.nodes import (
    Attribute,
    Call,
    Conditional,
    Constant,
    Expression,
    Filter,
    Item,
    Keyword,
    Name,
    Operation,
    Slice,
)

_PASSING: Final = frozenset(
    {
        *("capitalize", "center", "d", "default", "e", "escape", "first", "forceescape", "last"),
        *("lower", "max", "min", "random", "replace", "reverse", "safe", "string", "title"),
        *("trim", "truncate", "upper", "wordwrap"),
    }
)
"""Filters whose result has the line breaks of what they are given."""
_OF_LISTS: Final = SAME_LIST | {"batch", "groupby", "map", "slice"}
"""Filters that make a list of the elements of another."""
_PASSING_METHODS: Final = frozenset(
    {"capitalize", "get", "lower", "lstrip", "pop", "replace", "rstrip", "strip", "title", "upper"}
)
_LINE_BREAKS: Final = frozenset({"\n", "\\n", "\r\n"})


def unescaped_values(
    node: Expression, indent: int | None, *, adds_breaks: bool = False
) -> Iterator[tuple[Expression, bool]]:
    """The values in an expression whose line breaks come out as they are; whether it adds some itself."""
    if _is_value(node):
        yield node, adds_breaks
        return
    adds_breaks = adds_breaks or _adds_breaks(node, indent or 0)
    if adds_breaks and isinstance(node, Filter) and node.name in _OF_LISTS and node.target is not None:
        yield from unescaped_values(node.target, indent, adds_breaks=True)
        return
    for inner in _passed_on(node, indent):
        yield from unescaped_values(inner, indent, adds_breaks=adds_breaks)


def _adds_breaks(node: Expression, indent: int) -> bool:
    """Whether an expression joins its values with line breaks that leave the lines too far to the left."""
    match node:
        case Filter(name="join", arguments=(Constant(value=str() as between), *_)):
            pass
        case Operation(operators=("~" | "+",), operands=(Constant(value=str() as between), _)):
            pass
        case Operation(
            operators=("~" | "+",), operands=(Operation(operands=(_, Constant(value=str() as between))), _)
        ):
            pass
        case _:
            return False
    _, found, last = between.rpartition("\n")
    return bool(found) and len(last) - len(last.lstrip(" ")) < max(indent, 1)


def _is_value(node: Expression) -> bool:
    match node:
        case Name() | Attribute():
            return True
        case Item(key=key):
            return not isinstance(key, Slice)
        case Call(function=Attribute(name="get"), arguments=(Constant(), *_)):
            return True
        case _:
            return False


def _passed_on(node: Expression, indent: int | None) -> tuple[Expression, ...]:
    """The expressions inside of another whose line breaks come out of it."""
    match node:
        case Item(target=target):
            return (target,)
        case Filter(target=target) if target is not None:
            return _from_filter(node, target, indent)
        case Call(function=Attribute(target=target, name=name), arguments=arguments):
            breaks = name == "replace" and _replaces_breaks(arguments)
            return (target,) if name in _PASSING_METHODS and not breaks else ()
        case Conditional(then=then, otherwise=otherwise):
            return (then,) if otherwise is None else (then, otherwise)
        case Operation(operators=operators, operands=operands) if set(operators) <= {"~", "+", "and", "or"}:
            return operands
        case _:
            return ()


def _from_filter(node: Filter, target: Expression, indent: int | None) -> tuple[Expression, ...]:
    if node.name == "replace" and _replaces_breaks(node.arguments):
        return ()
    if node.name == "indent":
        return (target,) if _is_too_shallow(node, indent) else ()
    if node.name in {"default", "d"}:
        return (target, *(each for each in node.arguments if not isinstance(each, Keyword)))
    is_being_typed = not node.name  # what is found of the value stands still while its filter is typed
    return (target,) if is_being_typed or node.name in _PASSING or node.name == "join" else ()


def _replaces_breaks(arguments: tuple[Expression, ...]) -> bool:
    old = arguments[0] if arguments else None
    return isinstance(old, Constant) and old.value in _LINE_BREAKS


def _is_too_shallow(node: Filter, indent: int | None) -> bool:
    """Whether `indent(n)` certainly leaves later lines of the value behind the block's edge."""
    if indent is None:
        return False
    for argument in node.arguments:
        if isinstance(argument, Keyword) and argument.name == "width":
            argument = argument.value  # noqa: PLW2901 - the argument itself, however it is passed
        elif isinstance(argument, Keyword):
            continue
        width = argument.value if isinstance(argument, Constant) else None
        return isinstance(width, int) and not isinstance(width, bool) and width < indent
    return indent > 4  # noqa: PLR2004 - the width of Jinja's filter where none is given
