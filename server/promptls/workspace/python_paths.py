"""The paths that Python expressions evaluate to, and the templates that Jinja loads; nothing is run."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Final

from promptls.syntax.python_places import argument, last_name
from promptls.workspace.python_scopes import Scope

_MAX_STEPS: Final = 20
_SAME_PATH: Final = frozenset({"str", "Path", "PurePath", "abspath", "realpath", "fspath", "normpath"})
"""Functions that return the path that is passed to them."""
_SAME_METHODS: Final = frozenset({"resolve", "absolute", "as_posix", "__str__"})


def literal_path(node: ast.expr, scope: Scope, file: str, depth: int = 0) -> str | None:
    """Return the path that an expression in the Python file `file` evaluates to, or None if unknown."""
    if depth > _MAX_STEPS:
        return None

    def inner(other: ast.expr) -> str | None:
        return literal_path(other, scope, file, depth + 1)

    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.Name(id="__file__"):
            return file
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return _join([inner(left), inner(right)])
        case ast.Attribute(value=value, attr="parent"):
            return _parent(inner(value))
        case ast.Name() | ast.Attribute(value=ast.Name()):
            meant = scope.resolved(node)
            return None if meant is None else inner(meant)
        case ast.Call(func=function, args=arguments, keywords=[]):
            return _of_call(function, arguments, inner)
        case _:
            return None


def _of_call(
    function: ast.expr, arguments: list[ast.expr], inner: Callable[[ast.expr], str | None]
) -> str | None:
    name = last_name(function)
    if name in _SAME_METHODS and isinstance(function, ast.Attribute) and not arguments:
        return inner(function.value)
    if not arguments or any(isinstance(argument, ast.Starred) for argument in arguments):
        return None
    if name == "dirname" and len(arguments) == 1:
        return _parent(inner(arguments[0]))
    is_of_text = isinstance(function, ast.Attribute) and isinstance(function.value, ast.Constant)
    if name in {"Path", "PurePath"} or (name == "join" and not is_of_text):
        return _join([inner(argument) for argument in arguments])
    if name == "joinpath" and isinstance(function, ast.Attribute):
        return _join([inner(function.value), *map(inner, arguments)])
    return inner(arguments[0]) if name in _SAME_PATH and len(arguments) == 1 else None


def _join(parts: list[str | None]) -> str | None:
    known = [part for part in parts if part is not None]
    return os.path.join(*known) if len(known) == len(parts) else None  # noqa: PTH118 - not a path of this machine


def _parent(path: str | None) -> str | None:
    return None if path is None else str(Path(path).parent)


_ENVIRONMENTS: Final = frozenset(
    {"Environment", "SandboxedEnvironment", "ImmutableSandboxedEnvironment", "NativeEnvironment"}
)
_PACKAGE_FOLDER: Final = "templates"
"""The default folder of a package's templates in Jinja."""


def loaded_template(node: ast.expr | None, scope: Scope, file: str) -> str | None:
    """Return the path of the template that a call of `get_template` of a Jinja environment loads.

    None for other expressions, and if its folder is unknown.
    """
    match node:
        case ast.Call(func=ast.Attribute(value=owner, attr="get_template"), args=[given], keywords=[]):
            name, environment = literal_path(given, scope, file), scope.resolved(owner)
        case _:
            return None
    if (
        name is None
        or not isinstance(environment, ast.Call)
        or last_name(environment.func) not in _ENVIRONMENTS
    ):
        return None
    loader = scope.resolved(argument(environment, "loader"))
    folder = _folder_of(loader, scope, file) if isinstance(loader, ast.Call) else None
    return None if folder is None else str(PurePosixPath(folder) / name)


def _folder_of(loader: ast.Call, scope: Scope, file: str) -> str | None:
    """Return the folder that a loader of files or of a package searches; None for other calls."""
    texts: list[str | None] = []
    for each in (*loader.args, *(keyword.value for keyword in loader.keywords if keyword.arg != "encoding")):
        folders = each.elts if isinstance(each, (ast.List, ast.Tuple)) else [each]
        texts += [literal_path(folder, scope, file) for folder in folders]
    match last_name(loader.func), texts:
        case "FileSystemLoader", [str() as folder]:
            return folder
        case "PackageLoader", [str() as package, *rest] if None not in rest:
            return str(PurePosixPath(package.replace(".", "/"), *(map(str, rest or [_PACKAGE_FOLDER]))))
    return None
