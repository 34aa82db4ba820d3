"""Find the functions and names of a Python file by parsing it; it is not run."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Final, NamedTuple

from promptls.security.files import cached_by_file
from promptls.syntax.jinja.builtins import Taken, TakenKind
from promptls.syntax.python_places import (
    NOT_PYTHON,
    Function,
    argument,
    last_name,
    parameters,
    parse_python,
    parse_quietly,
    text_of,
)
from promptls.workspace.disk import text_on_disk
from promptls.workspace.python_scopes import Scope, scopes_of


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
        if isinstance(node, Function):
            found.append(_function(node))
        elif isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            found += [PythonFunction(name, "", "", node.lineno - 1) for name in names]
    exported = _exported(tree)
    found += [
        PythonFunction(name, "", "", 0) for name in exported if name not in {each.name for each in found}
    ]
    return tuple(function for function in found if not function.name.startswith("_"))


def function_in(path: Path, name: str) -> PythonFunction | None:
    """Return the first function of this name that the file at `path` offers."""
    return next((each for each in functions_in(str(path)) or () if each.name == name), None)


@cached_by_file(64)
def syntax_error_in(path: str) -> tuple[str, int] | None:
    """Return the message and the zero-based line of the error of a file that is not Python, or None."""
    text = text_on_disk(path)
    try:
        parse_quietly(text or "")
    except SyntaxError as error:
        return error.msg, (error.lineno or 1) - 1
    except NOT_PYTHON:
        pass  # too deep, or with null characters
    return None


def _tree_of(path: str) -> ast.Module | None:
    text = text_on_disk(path)
    return None if text is None else parse_python(text)


def _function(node: Function) -> PythonFunction:
    returned = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    calls = [each for each in node.decorator_list if isinstance(each, ast.Call)]
    called = [each.func if isinstance(each, ast.Call) else each for each in node.decorator_list]
    return PythonFunction(
        node.name,
        f"{node.name}({ast.unparse(node.args)}){returned}",
        ast.get_docstring(node) or "",
        node.lineno - 1,
        parameters_of(node),
        tuple(filter(None, map(last_name, called))),
        next(filter(None, (text_of(argument(each, "name")) for each in calls)), None),
    )


def parameters_of(function: Function | ast.Lambda) -> tuple[Taken, ...]:
    """Return the parameters of a function."""
    arguments = function.args
    placed = len(arguments.posonlyargs) + len(arguments.args)
    found = []
    for index, (each, default) in enumerate(parameters(function)):
        kind: TakenKind = "any" if index < placed else "keyword"
        found.append(_taken(each, default, "place" if index < len(arguments.posonlyargs) else kind))
    if arguments.vararg:
        found.insert(placed, Taken(arguments.vararg.arg, f"*{arguments.vararg.arg}", "rest"))
    if arguments.kwarg:
        found.append(Taken(arguments.kwarg.arg, f"**{arguments.kwarg.arg}", "named"))
    return tuple(found)


def _taken(argument: ast.arg, default: ast.expr | None, kind: TakenKind) -> Taken:
    annotated = f"{argument.arg}: {ast.unparse(argument.annotation)}" if argument.annotation else argument.arg
    equals = " = " if argument.annotation else "="
    text = annotated if default is None else f"{annotated}{equals}{ast.unparse(default)}"
    return Taken(argument.arg, text, kind, is_required=default is None)


def _exported(tree: ast.Module) -> list[str]:
    """Return the literal names in the file's `__all__`."""
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
    module = _module_of(path)
    if module is None or module.values.keys() & {"*", "__getattr__"}:
        return None
    called = {call.func.id for call in module.calls if isinstance(call.func, ast.Name)}
    return None if called & _UNSEEN else frozenset(module.values)


@cached_by_file(64)
def plain_names(path: str) -> frozenset[str]:
    """Return the names that the file at `path` certainly binds to a class, or to plain data."""
    module = _module_of(path)
    if module is None:
        return frozenset()
    names = {
        node.name for node in module.tree.body if isinstance(node, ast.ClassDef) and not node.decorator_list
    }
    names |= {name for name, values in module.values.items() if isinstance(values[0], _DATA)}
    return frozenset(name for name in names if len(module.values[name]) == 1)


def _module_of(path: str) -> Scope | None:
    """Return the scope of the file at `path`, or None if it cannot be read or parsed."""
    tree = _tree_of(path)
    try:
        return None if tree is None else scopes_of(tree)[0]
    except RecursionError:
        return None
