"""What Python calls give: the shapes of values that are written out."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from promptls.meaning.given import constant, rows
from promptls.meaning.shape import UNKNOWN, Shape
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
        case ast.Constant(value=value):
            return constant(value)
        case ast.JoinedStr():
            return Shape("text")
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return rows(given_shape(item, scope, depth + 1) for item in items)
        case ast.Dict() | ast.Call(func=ast.Name(id="dict"), args=[]):
            return _of_dict(node, scope, depth)
    return UNKNOWN


def _of_dict(node: ast.Dict | ast.Call, scope: Scope, depth: int) -> Shape:
    keys: dict[str, Shape] = {}
    is_open = False
    for key, value in _entries(node):
        if isinstance(key, str):
            keys[key] = given_shape(value, scope, depth + 1)
        else:  # it may also be one of the keys that stand ahead of it
            keys = dict.fromkeys(keys, UNKNOWN)
            is_open = True
    return Shape("mapping", keys=tuple(sorted(keys.items())), element=UNKNOWN if is_open else None)


def _entries(node: ast.Dict | ast.Call) -> Iterator[tuple[object, ast.expr]]:
    """The keys of a dict that are written out, with their values; None for any other."""
    if isinstance(node, ast.Call):
        yield from ((keyword.arg, keyword.value) for keyword in node.keywords)
        return
    for key, value in zip(node.keys, node.values, strict=True):
        yield key.value if isinstance(key, ast.Constant) else None, value
