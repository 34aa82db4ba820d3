"""Paths that a Python file writes out: as text, or from its own place by `__file__`."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

_SAME: Final = frozenset({"str", "Path", "PurePath", "abspath", "realpath", "fspath", "normpath"})
"""Functions that give back the path that they are given."""
_SAME_METHODS: Final = frozenset({"resolve", "absolute", "as_posix", "__str__"})
_MOST_STEPS: Final = 20


def literal_path(
    node: ast.expr, value_of: Callable[[str], ast.expr | None], file: str, depth: int = 0
) -> str | None:
    """The path that an expression in the Python file `file` gives, or None where that is not written out.

    `value_of` gives what a name stands for, or `self.name`.
    """
    if depth > _MOST_STEPS:
        return None

    def inner(other: ast.expr) -> str | None:
        return literal_path(other, value_of, file, depth + 1)

    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.Name(id="__file__"):
            return file
        case ast.Name(id=name):
            value = value_of(name)
            return None if value is None else inner(value)
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return _joined([inner(left), inner(right)])
        case ast.Attribute(value=value, attr="parent"):
            return _parent(inner(value))
        case ast.Attribute(value=ast.Name(id=name), attr=attribute):
            value = value_of(f"{name}.{attribute}")
            return None if value is None else inner(value)
        case ast.Call(func=function, args=arguments, keywords=[]):
            return _of_call(function, arguments, inner)
        case _:
            return None


def _of_call(
    function: ast.expr, arguments: list[ast.expr], inner: Callable[[ast.expr], str | None]
) -> str | None:
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if name in _SAME_METHODS and isinstance(function, ast.Attribute) and not arguments:
        return inner(function.value)
    if not arguments or any(isinstance(argument, ast.Starred) for argument in arguments):
        return None
    if name == "dirname" and len(arguments) == 1:
        return _parent(inner(arguments[0]))
    is_of_text = isinstance(function, ast.Attribute) and isinstance(function.value, ast.Constant)
    if name in {"Path", "PurePath"} or (name == "join" and not is_of_text):
        return _joined([inner(argument) for argument in arguments])
    if name == "joinpath" and isinstance(function, ast.Attribute):
        return _joined([inner(function.value), *map(inner, arguments)])
    return inner(arguments[0]) if name in _SAME and len(arguments) == 1 else None


def _joined(parts: list[str | None]) -> str | None:
    known = [part for part in parts if part is not None]
    return os.path.join(*known) if len(known) == len(parts) else None  # noqa: PTH118 - no path of this machine


def _parent(path: str | None) -> str | None:
    return None if path is None else str(Path(path).parent)
