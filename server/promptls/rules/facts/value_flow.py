"""What of an expression is printed with it: what its whole value can be, and what stands inside of its text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from promptls.syntax.jinja.nodes import (
    Attribute,
    Call,
    Collection,
    Conditional,
    Constant,
    Expression,
    Filter,
    Name,
    Operation,
)

_KEEPING: Final = frozenset(
    {"trim", "indent", "string", "safe", "wordwrap", "center", "list", "first", "last"}
)
"""Filters that leave the characters of a text as they are."""
_JOINING: Final = frozenset({"~", "+", "or"})


def choices(node: Expression) -> tuple[Expression, ...]:
    """The expressions that can be the whole value of one: the branches of a condition, a default, turns of a loop.

    What a default stands in for is none of them.
    """
    match node:
        case Conditional(then=then, otherwise=otherwise):
            return (then,) if otherwise is None else (then, otherwise)
        case Operation(operators=("or", *_), operands=(*_, last)):
            return (last,)
        case Filter(name="default" | "d", arguments=(given, *_)):
            return (given,)
        case Call(function=Attribute(name="cycle", target=Name(name="loop")), arguments=arguments):
            return arguments
        case _:
            return ()


def flowing(node: Expression) -> Iterator[Constant | Name]:
    """The constants and variables whose texts may stand in what an expression prints, as they are."""
    stack = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, (Constant, Name)):
            yield current
        else:
            stack.extend(reversed(_kept(current)))


def _kept(node: Expression) -> tuple[Expression, ...]:
    """What is directly inside of an expression and printed with it."""
    match node:
        case Operation(operators=operators, operands=operands) if set(operators) <= _JOINING:
            return operands
        case Operation(operators=("and", *_), operands=(*_, last)):
            return (last,)
        case Collection(kind=kind, items=items) if kind != "dict":
            return items
        case Filter(target=target, name="default" | "d") if target is not None:
            return (target, *choices(node))
        case Filter(target=target, name="join", arguments=arguments) if target is not None:
            return (target, *arguments[:1])
        case Filter(target=target, name=name) if target is not None and name in _KEEPING:
            return (target,)
        case Call(function=Name(name="escape_special_characters"), arguments=arguments):
            return arguments
        case Call(function=Name() as function):
            return (function,)
        case _:
            return choices(node)
