"""What Python calls give: the shapes of values that are written out."""

from __future__ import annotations

import ast
from typing import Final

from promptls.meaning.shape import UNKNOWN, Shape, merged, merged_both
from promptls.workspace.python_scopes import Scope

_MOST_STEPS: Final = 20


def given_shape(node: ast.expr, scope: Scope, depth: int = 0) -> Shape:
    """The shape of what an expression gives; unknown where that is not written out.

    Of a mapping with keys that are not written out the values are an `element`, which has no shape.
    """
    if depth > _MOST_STEPS:
        return UNKNOWN
    match node:
        case ast.Name(id=name):
            value = scope.constant_of(name)
            return UNKNOWN if value is None else given_shape(value, scope, depth + 1)
        case ast.Constant(value=bool()):
            return Shape("boolean")
        case ast.Constant(value=int() | float()):
            return Shape("number")
        case ast.Constant(value=str()) | ast.JoinedStr():
            return Shape("text")
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return Shape("list", element=_of_items(items, scope, depth))
        case ast.Dict():
            return _of_dict(node, scope, depth)
    return UNKNOWN


def _of_items(items: list[ast.expr], scope: Scope, depth: int) -> Shape | None:
    """The shape of the elements taken together; unknown where one of them is."""
    found: Shape | None = None
    for item in items:
        shape = given_shape(item, scope, depth + 1)
        if shape.kind == "unknown":
            return UNKNOWN
        found = merged_both(found, shape)
    return found


def _of_dict(node: ast.Dict, scope: Scope, depth: int) -> Shape:
    keys: dict[str, Shape] = {}
    is_open = False
    for key, value in zip(node.keys, node.values, strict=True):
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            shape = given_shape(value, scope, depth + 1)
            keys[key.value] = merged(keys[key.value], shape) if key.value in keys else shape
        else:
            is_open = True
    return Shape("mapping", keys=tuple(sorted(keys.items())), element=UNKNOWN if is_open else None)
