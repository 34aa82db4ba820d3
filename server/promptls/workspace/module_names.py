"""Every name that a Python module has at its top level, found by reading it; nothing of it is run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from promptls.text.file_stamp import kept_by_file
from promptls.workspace.disk import read_text

_UNSEEN: Final = frozenset({"globals", "exec", "setattr"})
"""Functions that bind names which are not written out."""
_DATA: Final = (ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.JoinedStr)
"""Expressions that give no function."""


@kept_by_file(64)
def names_of_module(path: str) -> frozenset[str] | None:
    """The names that importing the file at `path` would bind; None where they cannot all be known.

    That is where the file cannot be read or parsed, imports with a star, or makes names in a way
    that only running it shows.
    """
    text = read_text(path)
    if text is None:
        return None
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None
    try:
        found = frozenset(_bound(tree.body))
    except RecursionError:
        return None
    return None if found & {"*", "__getattr__"} else found


@kept_by_file(64)
def plain_names(path: str) -> frozenset[str]:
    """The names that importing the file at `path` certainly binds to a class, or to plain data."""
    text = read_text(path)
    try:
        tree = ast.parse(text or "")
        bound = [*_bound(tree.body)]
    except (SyntaxError, ValueError, RecursionError):
        return frozenset()
    found = set()
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and not node.decorator_list:
            found.add(node.name)
        elif isinstance(node, ast.Assign) and isinstance(node.value, _DATA):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return frozenset(name for name in found if bound.count(name) == 1)


def _bound(body: list[ast.stmt]) -> Iterator[str]:
    """The names that statements bind; `*` for a star import, and for names that are not written out."""
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
