"""Find the functions and names of a Python file by parsing it; it is not run."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

from promptls.security.files import cached_by_file
from promptls.syntax.jinja.builtins import Taken, TakenKind
from promptls.syntax.python_places import NOT_PYTHON, argument, last_name, parse_python, text_of
from promptls.workspace.disk import text_on_disk


class PythonFunction(NamedTuple):
    """A function at the top level of a file: its signature, its docstring, and its zero-based line.

    `parameters` is empty if `signature` is; `decorators` are the names of its decorators, and
    `metric_name` is the text that is passed to one of them as `name`.
    """

    name: str
    signature: str
    documentation: str
    line: int
    parameters: tuple[Taken, ...] = ()
    decorators: tuple[str, ...] = ()
    metric_name: str | None = None


@cached_by_file(64)
def functions_in(path: str) -> tuple[PythonFunction, ...] | None:
    """Return the functions that the file at `path` offers, or None if it cannot be read or parsed.

    Variables that the file assigns are included, because they may be functions; their signature
    is unknown and left empty. A literal `__all__` adds imported names.
    """
    tree = _tree_of(path)
    if tree is None:
        return None
    found: list[PythonFunction] = []
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found.append(_function(node))
        elif isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            found += [PythonFunction(name, "", "", node.lineno - 1) for name in names]
    exported = _exported(tree)
    found += [
        PythonFunction(name, "", "", 0) for name in exported if name not in {each.name for each in found}
    ]
    return tuple(function for function in found if not function.name.startswith("_"))


@cached_by_file(64)
def syntax_error_in(path: str) -> tuple[str, int] | None:
    """Return the message and the zero-based line of the error of a file that is not Python, or None."""
    text = text_on_disk(path)
    try:
        ast.parse((text or "").removeprefix("\ufeff"))
    except SyntaxError as error:
        return error.msg, (error.lineno or 1) - 1
    except NOT_PYTHON:
        pass  # too deep, or with null characters
    return None


def _tree_of(path: str) -> ast.Module | None:
    text = text_on_disk(path)
    return None if text is None else parse_python(text)


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef) -> PythonFunction:
    returned = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return PythonFunction(
        node.name,
        f"{node.name}({ast.unparse(node.args)}){returned}",
        ast.get_docstring(node) or "",
        node.lineno - 1,
        parameters_of(node.args),
        tuple(name for each in node.decorator_list if (name := _decorator_name(each))),
        next(filter(None, map(_given_name, node.decorator_list)), None),
    )


def _given_name(decorator: ast.expr) -> str | None:
    return text_of(argument(decorator, "name")) if isinstance(decorator, ast.Call) else None


def _decorator_name(node: ast.expr) -> str:
    return last_name(node.func if isinstance(node, ast.Call) else node)


def parameters_of(arguments: ast.arguments) -> tuple[Taken, ...]:
    """Return the parameters of a function."""
    placed = [*arguments.posonlyargs, *arguments.args]
    defaults: list[ast.expr | None] = [None] * (len(placed) - len(arguments.defaults))
    found = [
        _taken(each, default, "place" if index < len(arguments.posonlyargs) else "any")
        for index, (each, default) in enumerate(zip(placed, [*defaults, *arguments.defaults], strict=True))
    ]
    if arguments.vararg:
        found.append(Taken(arguments.vararg.arg, f"*{arguments.vararg.arg}", "rest"))
    found += [
        _taken(each, default, "keyword")
        for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    if arguments.kwarg:
        found.append(Taken(arguments.kwarg.arg, f"**{arguments.kwarg.arg}", "named"))
    return tuple(found)


def _taken(argument: ast.arg, default: ast.expr | None, kind: TakenKind) -> Taken:
    annotated = f"{argument.arg}: {ast.unparse(argument.annotation)}" if argument.annotation else argument.arg
    equals = " = " if argument.annotation else "="
    text = annotated if default is None else f"{annotated}{equals}{ast.unparse(default)}"
    return Taken(argument.arg, text, kind, is_required=default is None)


def _exported(tree: ast.Module) -> list[str]:
    """Return the names in the file's `__all__`, as far as they are literal."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets
        ):
            elements = node.value.elts if isinstance(node.value, (ast.List, ast.Tuple)) else []
            return [text for element in elements if (text := text_of(element)) is not None]
    return []


_UNSEEN: Final = frozenset({"globals", "exec", "setattr"})
"""Functions that bind names dynamically."""
_DATA: Final = (ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.JoinedStr)
"""Expressions whose value is not a function."""


@cached_by_file(64)
def names_of_module(path: str) -> frozenset[str] | None:
    """Return the names that importing the file at `path` would bind, or None if they cannot all be known.

    That is the case if the file cannot be read or parsed, has a star import, or binds names dynamically.
    """
    tree = _tree_of(path)
    if tree is None:
        return None
    try:
        found = frozenset(_bound(tree.body))
    except RecursionError:
        return None
    return None if found & {"*", "__getattr__"} else found


@cached_by_file(64)
def plain_names(path: str) -> frozenset[str]:
    """Return the names that the file at `path` certainly binds to a class, or to plain data."""
    tree = _tree_of(path)
    if tree is None:
        return frozenset()
    try:
        times = Counter(_bound(tree.body))
    except RecursionError:
        return frozenset()
    found = set()
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and not node.decorator_list:
            found.add(node.name)
        elif isinstance(node, ast.Assign) and isinstance(node.value, _DATA):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return frozenset(name for name in found if times[name] == 1)


def _bound(body: list[ast.stmt]) -> Iterator[str]:
    """Yield the names that statements bind; `*` for a star import and for names bound dynamically."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name
            continue
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                yield alias.asname or alias.name.partition(".")[0]
            continue
        for field in ("body", "orelse", "finalbody"):
            inner = getattr(node, field, None)
            if isinstance(inner, list):
                yield from _bound([each for each in inner if isinstance(each, ast.stmt)])
        for handler in getattr(node, "handlers", ()):
            yield from _bound(handler.body)
        for case in getattr(node, "cases", ()):
            yield from _bound(case.body)
        yield from _in_expressions(node)


def _in_expressions(statement: ast.stmt) -> Iterator[str]:
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _UNSEEN:
            yield "*"
