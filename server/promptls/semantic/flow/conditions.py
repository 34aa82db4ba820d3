"""What conditions reveal about values: comparisons with constants, and type tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from promptls.semantic.flow.paths import Each, Path, Step, extend_path, path_of
from promptls.semantic.flow.use import Compared, Condition, Conditions
from promptls.semantic.types.shape import Need, Shape, conditional
from promptls.syntax.jinja import nodes


def compared_values(node: nodes.Operation) -> Iterator[tuple[nodes.Expression, tuple[Compared, ...]]]:
    """Yield the values compared directly, without filters or defaults, each with the constants."""
    match node.operators, node.operands:
        case ["==" | "!="], [left, right]:
            for value, other in ((left, right), (right, left)):
                if is_plain(value) and (constants := _constants(other)):
                    yield value, constants
        case ["in" | "not in"], [left, nodes.Collection() as right]:
            constants = tuple(constant for item in right.items for constant in _constants(item))
            if constants and is_plain(left) and right.kind != "dict":
                yield left, constants


def is_plain(node: nodes.Expression) -> bool:
    """Return whether an expression is just a variable, or an attribute or element of one."""
    match node:
        case nodes.Name():
            return True
        case nodes.Attribute(target=target):
            return is_plain(target)
        case nodes.Item(target=target, key=nodes.Constant()):
            return is_plain(target)
        case _:
            return False


def is_cut(node: nodes.Expression) -> bool:
    """Return whether an expression is a slice of a text or list."""
    return isinstance(node, nodes.Item) and isinstance(node.key, nodes.Slice)


def _constants(node: nodes.Expression) -> tuple[Compared, ...]:
    return (Compared(node.value, node.span),) if isinstance(node, nodes.Constant) else ()


_EQUAL: Final = frozenset({"==", "eq", "equalto"})
_UNEQUAL: Final = frozenset({"!=", "ne"})


def conditions_of(test: nodes.Expression, *, holds: bool = True) -> Conditions:
    """Return what is known of values if a condition is true, or if it is false."""
    match test:
        case nodes.Operation(operators=("not", *rest), operands=(operand,)):
            return conditions_of(operand, holds=holds is bool(len(rest) % 2))
        case nodes.Operation(operators=("and" | "or" as word, *_), operands=operands):
            each = [conditions_of(operand, holds=holds) for operand in operands]
            return _all(each, operands if holds else ()) if (word == "and") is holds else _any(each)
        case nodes.Operation(operators=("==" | "!=" as word,), operands=(left, right)):
            is_among = (word == "==") is holds
            return _about(left, right, is_among=is_among) or _about(right, left, is_among=is_among)
        case nodes.Operation(
            operators=("in" | "not in" as word,), operands=(left, nodes.Collection() as right)
        ):
            return _about(left, right, is_among=(word == "in") is holds)
        case nodes.Test(name=name, target=target, arguments=(nodes.Constant() as constant,)) if (
            name in _EQUAL | _UNEQUAL
        ):
            return _about(target, constant, is_among=(name in _EQUAL) is holds)
    return ()


def selected_uses(over: nodes.Expression, element: str) -> Iterator[Condition]:
    """Yield what is known of the variable of a loop over the result of `selectattr` and `rejectattr`."""
    while isinstance(over, nodes.Filter) and over.target is not None:
        match over:
            case nodes.Filter(
                name="selectattr" | "rejectattr" as name,
                arguments=(nodes.Constant(value=str() as key), nodes.Constant(value=str() as test), operand),
            ) if test in _EQUAL | _UNEQUAL | {"in"}:
                values = _compared_constants(operand)
                path: Path = (Step(element),)
                for part in key.split("."):
                    path = extend_path(path, Step(part))
                if values is not None and isinstance(operand, nodes.Collection) is (test == "in"):
                    yield Condition(path, values, (name == "selectattr") is (test not in _UNEQUAL))
        over = over.target


def under(shape: Shape, name: str, condition: Condition) -> Shape:
    """Return the shape of the variable `name` if all its uses are under a condition.

    Siblings of the value that the condition tests are only needed if the condition is true.
    """
    root = str(condition.path[0].key)
    if root == name:
        return _with_conditional_siblings(shape, condition.path[1:], condition)
    need = _need(condition, condition.path)
    return shape if need is None else conditional(shape, need)


def _with_conditional_siblings(shape: Shape, path: Path, condition: Condition) -> Shape:
    """Return a shape in which the siblings of values on the path to the tested value are conditional."""
    if not path:
        return shape
    if shape.kind == "union":
        return replace(
            shape,
            alternatives=tuple(
                [_with_conditional_siblings(each, path, condition) for each in shape.alternatives]
            ),
        )
    key = path[0].key
    if not isinstance(key, str):
        inside = shape.element
        return (
            shape
            if inside is None
            else replace(shape, element=_with_conditional_siblings(inside, path[1:], condition))
        )
    need = _need(condition, path)
    keys = [
        (
            name,
            _with_conditional_siblings(below, path[1:], condition)
            if name == key
            else below
            if need is None
            else conditional(below, need),
        )
        for name, below in shape.keys
    ]
    return replace(shape, keys=tuple(keys))


def _need(condition: Condition, path: Path) -> Need | None:
    """Return the condition for siblings of the first step of a path; None if the path leads through lists."""
    names = tuple([step.key for step in path if isinstance(step.key, str)])
    if len(names) < len(path):
        return None
    return Need(names, condition.is_among, condition.values, condition.is_partial)


def is_about_one(path: Path) -> bool:
    """Return whether a path leads to a single value: through no view, index or default."""
    return bool(path) and not any(
        step.optional or not (isinstance(step.key, str) or step.key is Each.ELEMENT) for step in path
    )


def _about(value: nodes.Expression, constants: nodes.Expression, *, is_among: bool) -> Conditions:
    found = _compared_constants(constants)
    if found is None or not is_plain(value):
        return ()
    path = path_of(value)
    return (Condition(path, found, is_among),) if path else ()


def _compared_constants(node: nodes.Expression) -> frozenset[object] | None:
    """Return the constants that a value is compared with, or None if there may be others."""
    if isinstance(node, nodes.Constant):
        return frozenset({node.value})
    if isinstance(node, nodes.Collection) and node.kind != "dict":
        values = [item.value for item in node.items if isinstance(item, nodes.Constant)]
        return frozenset(values) if values and len(values) == len(node.items) else None
    return None


def _all(each: list[Conditions], operands: Sequence[nodes.Expression]) -> Conditions:
    """Return what is known if all of some conditions are true; `operands` are those of the `and`."""
    found = tuple([condition for conditions in each for condition in conditions])
    unknown = [operand for conditions, operand in zip(each, operands, strict=False) if not conditions]
    if all(each) or (operands and all(_is_implied(operand, found) for operand in unknown)):
        return found
    return tuple([condition._replace(is_partial=True) for condition in found])


def _is_implied(operand: nodes.Expression, found: Conditions) -> bool:
    """Return whether a condition only requires the existence of the mapping whose value is compared."""
    is_test = isinstance(operand, nodes.Test) and operand.name in {"mapping", "defined"}
    path = path_of(operand.target if isinstance(operand, nodes.Test) and is_test else operand)
    return bool(path) and all(
        len(path) < len(condition.path)
        and all(step.key == other.key for step, other in zip(path, condition.path, strict=False))
        for condition in found
    )


def _any(each: list[Conditions]) -> Conditions:
    """Return what is known if one of some conditions is true: something only if all test the same value."""
    if not all(len(conditions) == 1 for conditions in each):
        return ()
    found = [conditions[0] for conditions in each]
    if len({condition.path for condition in found}) > 1 or any(condition.is_partial for condition in found):
        return ()
    among = frozenset[object]().union(*(one.values for one in found if one.is_among))
    refused = [one.values for one in found if not one.is_among]
    if not refused:
        return (Condition(found[0].path, among, is_among=True),)
    both = frozenset.intersection(*refused) - among
    return (Condition(found[0].path, both, is_among=False),) if both else ()
