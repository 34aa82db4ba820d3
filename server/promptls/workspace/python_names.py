"""The public functions of a Python file, found by reading it; nothing of it is run."""

from __future__ import annotations

import ast
from typing import NamedTuple

from promptls.syntax.jinja.signature import Taken, TakenKind
from promptls.text.file_stamp import kept_by_file
from promptls.workspace.disk import read_text


class PythonFunction(NamedTuple):
    """A function at the top level of a file: its signature, its docstring, and its line from 0.

    `parameters` is empty where `signature` is; `decorators` are the names of what decorates it, and
    `metric_name` is the text that one of them is given as `name`.
    """

    name: str
    signature: str
    documentation: str
    line: int
    parameters: tuple[Taken, ...] = ()
    decorators: tuple[str, ...] = ()
    metric_name: str | None = None


@kept_by_file(64)
def functions_in(path: str) -> tuple[PythonFunction, ...] | None:
    """The functions that the file at `path` offers; None where it cannot be read or parsed.

    Names that the file assigns count as well, because they may hold functions; their signature
    is unknown and left empty. A written-out `__all__` adds what the file imports.
    """
    text = read_text(path)
    if text is None:
        return None
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
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


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef) -> PythonFunction:
    returned = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return PythonFunction(
        node.name,
        f"{node.name}({ast.unparse(node.args)}){returned}",
        ast.get_docstring(node) or "",
        node.lineno - 1,
        _parameters(node.args),
        tuple(name for each in node.decorator_list if (name := _decorator_name(each))),
        next(filter(None, map(_given_name, node.decorator_list)), None),
    )


def _given_name(decorator: ast.expr) -> str | None:
    for keyword in decorator.keywords if isinstance(decorator, ast.Call) else ():
        if keyword.arg == "name" and isinstance(keyword.value, ast.Constant):
            return keyword.value.value if isinstance(keyword.value.value, str) else None
    return None


def _decorator_name(node: ast.expr) -> str:
    node = node.func if isinstance(node, ast.Call) else node
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _parameters(arguments: ast.arguments) -> tuple[Taken, ...]:
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
    """The names in the file's `__all__`, as far as they are written out."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets
        ):
            elements = node.value.elts if isinstance(node.value, (ast.List, ast.Tuple)) else []
            return [
                element.value
                for element in elements
                if isinstance(element, ast.Constant) and isinstance(element.value, str)
            ]
    return []
