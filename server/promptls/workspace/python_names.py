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

    Names that the file imports or assigns count as well, because a template can call them;
    their signature is unknown and left empty.
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
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found += [
                PythonFunction(alias.asname or alias.name, "", "", node.lineno - 1) for alias in node.names
            ]
        elif isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            found += [PythonFunction(name, "", "", node.lineno - 1) for name in names]
    return tuple(function for function in found if not function.name.startswith("_"))
