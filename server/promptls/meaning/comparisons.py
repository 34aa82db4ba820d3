"""What values are compared with: the constants in `tone == "brief"` and `tone in ["kind", "brief"]`."""

from __future__ import annotations

from collections.abc import Iterator

from promptls.meaning.use import Compared
from promptls.syntax.jinja.nodes import (
    Attribute,
    Collection,
    Constant,
    Expression,
    Item,
    Name,
    Operation,
    Slice,
)


def compared(node: Operation) -> Iterator[tuple[Expression, tuple[Compared, ...]]]:
    """The values that are compared as they are, through no filter or default, each with the constants."""
    if len(node.operators) != 1 or len(node.operands) != 2:  # noqa: PLR2004 - the two sides
        return
    left, right = node.operands
    match node.operators[0]:
        case "==" | "!=":
            for value, other in ((left, right), (right, left)):
                if is_plain(value) and (constants := _constants(other)):
                    yield value, constants
        case "in" | "not in":
            if is_plain(left) and isinstance(right, Collection) and right.kind != "dict":
                constants = tuple(constant for item in right.items for constant in _constants(item))
                if constants:
                    yield left, constants


def is_plain(node: Expression) -> bool:
    """Whether an expression is a variable, or an attribute or element of one, and nothing is done to it."""
    match node:
        case Name():
            return True
        case Attribute(target=target):
            return is_plain(target)
        case Item(target=target, key=Constant()):
            return is_plain(target)
        case _:
            return False


def is_cut(node: Expression) -> bool:
    """Whether an expression gives a piece of a text or list, by a slice."""
    return isinstance(node, Item) and isinstance(node.key, Slice)


def _constants(node: Expression) -> tuple[Compared, ...]:
    return (Compared(node.value, node.span),) if isinstance(node, Constant) else ()
