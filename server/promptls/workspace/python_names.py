"""The public functions of a Python file, found by reading it; nothing of it is run."""

from __future__ import annotations

import ast
from typing import NamedTuple

from promptls.workspace.disk import read_text


class PythonFunction(NamedTuple):
    """A function at the top level of a file: its signature, its docstring, and its line from 0."""

    name: str
    signature: str
    documentation: str
    line: int


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
            signature = f"{node.name}({ast.unparse(node.args)})"
            found.append(PythonFunction(node.name, signature, ast.get_docstring(node) or "", node.lineno - 1))
        elif isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            found += [PythonFunction(name, "", "", node.lineno - 1) for name in names]
    exported = _exported(tree)
    found += [
        PythonFunction(name, "", "", 0) for name in exported if name not in {each.name for each in found}
    ]
    return tuple(function for function in found if not function.name.startswith("_"))


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
