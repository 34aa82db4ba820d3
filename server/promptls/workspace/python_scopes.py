"""Calls in a Python file by the function they stand in, and names that stand for one value there."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple


class AttributeValue(NamedTuple):
    """The value that code in `scope` gives to `name.attribute`; None where that is not one expression."""

    scope: Scope
    name: str
    attribute: str
    value: ast.expr | None


@dataclass(slots=True)
class Scope:
    """A function, a class or the module: its own calls, and what its names are bound to."""

    outer: Scope | None
    calls: list[ast.Call] = field(default_factory=list)
    values: dict[str, list[ast.expr | None]] = field(default_factory=dict)
    """What each name is assigned, None where it is bound in another way."""
    touched: set[str] = field(default_factory=set)
    """Names whose value may change, here or further inside: all that are used but as a keyword's value."""
    node: ast.AST | None = None
    inner: list[Scope] = field(default_factory=list)
    attributes: list[AttributeValue] = field(default_factory=list)
    """Of a module: what any of its code assigns to attributes of names."""

    def value_of(self, name: str) -> ast.expr | None:
        """What a name stands for, where it is bound once; else None."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.values:
                values = scope.values[name]
                return values[0] if len(values) == 1 else None
            scope = scope.outer
        return None

    def constant_of(self, name: str) -> ast.expr | None:
        """What a name stands for, where it is bound once and nothing can change its value; else None."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.values:
                return None if name in scope.touched else self.value_of(name)
            scope = scope.outer
        return None


def scopes_of(tree: ast.Module) -> list[Scope]:
    """The scopes of a module, the module's own first."""
    found: list[Scope] = []
    _visit_scope(tree, None, found)
    return found


def _visit_scope(node: ast.AST, outer: Scope | None, found: list[Scope]) -> None:
    scope = Scope(outer, node=node)
    found.append(scope)
    if outer is not None:
        outer.inner.append(scope)
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        for argument in ast.walk(node.args):
            if isinstance(argument, ast.arg):
                scope.values.setdefault(argument.arg, []).append(None)
    for child in _children(node):
        _visit(child, scope, found)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Lambda):
        yield node.body
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)):
        yield from node.body


def _visit(node: ast.AST, scope: Scope, found: list[Scope]) -> None:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
        if not isinstance(node, ast.Lambda):
            scope.values.setdefault(node.name, []).append(None)
        _visit_scope(node, scope, found)
        return
    if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if len(targets) == 1 and isinstance(targets[0], ast.Name):
            scope.values.setdefault(targets[0].id, []).append(node.value)
            _visit(node.value, scope, found)
            return
        if len(targets) == 1 and isinstance(targets[0], ast.Attribute):
            _note_attribute(targets[0], node.value, scope, found[0])
            _visit(targets[0].value, scope, found)
            _visit(node.value, scope, found)
            return
    if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
        _note_attribute(node, None, scope, found[0])
    if isinstance(node, ast.Call):
        scope.calls.append(node)
    _note_name(node, scope)
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.keyword) and isinstance(child.value, ast.Name):
            continue  # handing a value on by keyword leaves the name's value as it was
        if isinstance(child, ast.Name) and _is_rendering(node):
            continue  # and so does rendering with it
        _visit(child, scope, found)


def _is_rendering(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "render"


def _note_attribute(target: ast.Attribute, value: ast.expr | None, scope: Scope, module: Scope) -> None:
    name = target.value.id if isinstance(target.value, ast.Name) else ""
    module.attributes.append(AttributeValue(scope, name, target.attr, value))


def _note_name(node: ast.AST, scope: Scope) -> None:
    if isinstance(node, ast.Name):
        if isinstance(node.ctx, ast.Load):
            around: Scope | None = scope
            while around is not None:
                around.touched.add(node.id)
                around = around.outer
        else:
            scope.values.setdefault(node.id, []).append(None)
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            scope.values.setdefault(name, []).append(None)
    elif isinstance(node, (ast.Global, ast.Nonlocal)):
        for name in node.names:
            scope.values.setdefault(name, []).append(None)
