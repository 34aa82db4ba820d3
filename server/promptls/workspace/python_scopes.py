"""Resolve names in a Python file: what is imported from libraries, and what has one value in its scope."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from promptls.syntax.python_places import (
    Function,
    arguments,
    dotted_name,
    parameter_names,
    parameters,
    statements_in,
)

PACKAGES: Final = ("promptls", "ragas")
LIBRARIES: Final = (*PACKAGES, "prompt_poet")
_INTEGRATIONS: Final = "ragas.integrations"
"""The package of functions for other frameworks, whose `evaluate` is not that of Ragas."""
_SUBMODULE: Final = "metrics"
"""The module of both packages that is imported from them by its name."""


@dataclass(frozen=True)
class Imports:
    """What a module imports from the libraries whose uses are checked."""

    names: Mapping[str, tuple[str, str]]
    """The package and the name there of each imported name."""
    modules: Mapping[str, str]
    """The packages by the names of their modules."""

    def __bool__(self) -> bool:
        """Return whether there are any."""
        return bool(self.names or self.modules)

    def meaning(self, node: ast.expr) -> tuple[str, str]:
        """Return the package and the name that an expression refers to; empty for others."""
        if isinstance(node, ast.Name):
            return self.names.get(node.id, ("", ""))
        if isinstance(node, ast.Attribute) and self.modules:
            package = self.modules.get(dotted_name(node.value))
            return (package, node.attr) if package else ("", "")
        return "", ""

    def decorator(self, function: Function, names: Container[str]) -> ast.expr | None:
        """Return the first decorator of a function that is one of the libraries' `names`."""
        for decorator in function.decorator_list:
            called = decorator.func if isinstance(decorator, ast.Call) else decorator
            if self.meaning(called)[1] in names:
                return decorator
        return None


@lru_cache(maxsize=4)
def imports_of(tree: ast.Module) -> Imports:
    """Return what a module imports from the libraries, at any place."""
    names: dict[str, tuple[str, str]] = {}
    modules: dict[str, str] = {}
    for node in statements_in(tree):
        if isinstance(node, ast.Import):
            packages = [(each, each.name.partition(".")[0]) for each in node.names]
            modules |= {
                each.asname or each.name: package for each, package in packages if package in LIBRARIES
            }
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module is not None:
            package = node.module.partition(".")[0]
            for each in node.names if package in LIBRARIES else ():
                if node.module == package and each.name == _SUBMODULE:
                    modules[each.asname or each.name] = package
                elif not node.module.startswith(_INTEGRATIONS):
                    names[each.asname or each.name] = (package, each.name)
    return Imports(names, modules)


def own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a module or function, except those inside functions in it."""
    waiting = list(ast.iter_child_nodes(scope))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, Function):
            waiting += ast.iter_child_nodes(node)


def is_generator(function: Function) -> bool:
    """Return whether a call of a function returns a generator."""
    return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in own_nodes(function))


def returned_values(function: Function) -> list[ast.expr | None]:
    """Return the values of the `return` statements of a function; nothing for a generator."""
    values = [node.value for node in own_nodes(function) if isinstance(node, ast.Return)]
    return [] if is_generator(function) else values


_READS: Final = frozenset({"copy", "get", "items", "keys", "values"})
"""Methods of a dict that do not change it."""
Addition: TypeAlias = tuple[ast.Constant, ast.expr] | ast.Call


class Built(NamedTuple):
    """What a program adds to a variable, and whether it reads items, which it may change."""

    additions: tuple[Addition, ...]
    is_read: bool


class AttributeValue(NamedTuple):
    """The value that code in `scope` assigns to `name.attribute`; None if that is not one expression."""

    scope: Scope
    name: str
    attribute: str
    value: ast.expr | None


@dataclass(slots=True)
class Scope:
    """A function, a class or the module: its own calls, and the values of its names."""

    outer: Scope | None
    node: ast.AST
    calls: list[ast.Call] = field(default_factory=list)
    values: dict[str, list[ast.expr | None]] = field(default_factory=dict)
    """The values that are assigned to each name; None if it is bound in a different way."""
    inner: list[Scope] = field(default_factory=list)
    attributes: list[AttributeValue] = field(default_factory=list)
    """Of a module: what any of its code assigns to attributes of names."""

    @property
    def module(self) -> Scope:
        """The scope of the module."""
        return _chain(self)[-1]

    @property
    def tree(self) -> ast.Module:
        """The syntax tree of the module."""
        node = self.module.node
        assert isinstance(node, ast.Module)
        return node

    def meaning(self, node: ast.expr) -> tuple[str, str]:
        """Return the library and the name there that an expression refers to; empty for others."""
        return imports_of(self.tree).meaning(node)

    def scope_of(self, name: str) -> Scope | None:
        """Return the scope that binds a name; the names of a class are not visible in its methods."""
        for scope in _chain(self):
            if name in scope.values and (scope is self or not isinstance(scope.node, ast.ClassDef)):
                return scope
        return None

    def value_of(self, name: str) -> ast.expr | None:
        """Return the value of a name if it is bound once, else None."""
        scope = self.scope_of(name)
        values = scope.values[name] if scope is not None else []
        return values[0] if len(values) == 1 else None

    def resolved(self, node: ast.expr | None) -> ast.expr | None:
        """Return the value of a variable or an attribute, if it has only one; other expressions unchanged."""
        match node:
            case ast.Name(id=name):
                return self.value_of(name)
            case ast.Attribute(value=ast.Name(id=name), attr=attribute):
                return attribute_value(self, name, attribute)
        return node

    def constant_of(self, name: str) -> ast.expr | None:
        """Return the value of a name if it is bound once and nothing can change the value.

        Otherwise None.
        """
        value = self.value_of(name)
        return value if value is not None and self.is_fixed(name) else None

    def built(self, name: str) -> Built | None:
        """Return how a name's value is built after it is bound; None if it may change in other ways."""
        scope = self.scope_of(name)
        return _built_in(scope.node).get(name) if scope is not None else None

    def is_fixed(self, name: str) -> bool:
        """Return whether nothing can change the value of a name after it is bound."""
        return self.built(name) == Built((), is_read=False)

    def annotation_of(self, name: str) -> ast.expr | None:
        """Return the annotation of a parameter that is not bound again and is not None by default."""
        scope = self.scope_of(name)
        node = scope.node if scope is not None else None
        if scope is None or scope.values[name] != [None] or not isinstance(node, Function):
            return None
        for each, default in parameters(node):
            if each.arg == name:
                is_null = isinstance(default, ast.Constant) and default.value is None
                return None if is_null else each.annotation
        return None

    def arguments_for(self, name: str) -> list[tuple[ast.expr, Scope]]:
        """Return what calls in the module pass for a parameter of a function, with the scopes of the calls.

        Empty if the function does anything with the parameter but passing it on.
        """
        scope = self.scope_of(name)
        node = scope.node if scope is not None else None
        if scope is None or not isinstance(node, Function) or scope.values[name] != [None]:
            return []
        if not scope.is_fixed(name) or self.module.function_of(node.name) is not node:
            return []
        names = parameter_names(node)
        found: list[tuple[ast.expr, Scope]] = []
        waiting = [self.module]
        while waiting:
            caller = waiting.pop()
            waiting += caller.inner
            for call in caller.calls:
                if isinstance(call.func, ast.Name) and call.func.id == node.name:
                    given = arguments(call, names).get(name)
                    is_meant = caller.scope_of(node.name) is self.module
                    found += [(given, caller)] if given is not None and is_meant else []
        return found

    def class_of(self, name: str) -> ast.ClassDef | None:
        """Return the class of the module that a name refers to."""
        scope = self.scope_of(name)
        return _named_class(scope, name) if scope is not None and scope.outer is None else None

    def function_of(self, name: str) -> Function | None:
        """Return the function that a name is bound to, if it is bound once and has no decorators."""
        scope = self.scope_of(name)
        if scope is None or len(scope.values[name]) != 1 or not isinstance(scope.node, ast.Module):
            return None
        for node in scope.node.body:
            if isinstance(node, Function) and node.name == name and not node.decorator_list:
                return node
        return None


@lru_cache(maxsize=4)
def scopes_of(tree: ast.Module) -> tuple[Scope, ...]:
    """Return the scopes of a module, which callers do not change; the module's own scope is first."""
    found: list[Scope] = []
    _visit_scope(tree, None, found)
    return tuple(found)


def _visit_scope(node: ast.AST, outer: Scope | None, found: list[Scope]) -> None:
    scope = Scope(outer, node)
    found.append(scope)
    if outer is not None:
        outer.inner.append(scope)
    if isinstance(node, Function | ast.Lambda):
        for argument in ast.walk(node.args):
            if isinstance(argument, ast.arg):
                scope.values.setdefault(argument.arg, []).append(None)
    for child in _children(node):
        _visit(child, scope, found)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Lambda):
        yield node.body
    elif isinstance(node, Function | ast.ClassDef | ast.Module):
        yield from node.body


def _visit(node: ast.AST, scope: Scope, found: list[Scope]) -> None:
    if isinstance(node, Function | ast.ClassDef | ast.Lambda):
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
        _visit(child, scope, found)


def _note_attribute(target: ast.Attribute, value: ast.expr | None, scope: Scope, module: Scope) -> None:
    name = target.value.id if isinstance(target.value, ast.Name) else ""
    module.attributes.append(AttributeValue(scope, name, target.attr, value))


def _note_name(node: ast.AST, scope: Scope) -> None:
    if isinstance(node, ast.Name):
        if not isinstance(node.ctx, ast.Load):
            scope.values.setdefault(node.id, []).append(None)
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            scope.values.setdefault(name, []).append(None)
    elif isinstance(node, ast.ExceptHandler) and node.name:
        scope.values.setdefault(node.name, []).append(None)
    elif isinstance(node, (ast.Global, ast.Nonlocal)):
        for name in node.names:
            scope.values.setdefault(name, []).append(None)
            owner = _owner_of_shared(node, name, scope)
            owner.values.setdefault(name, []).append(None)


def _owner_of_shared(node: ast.Global | ast.Nonlocal, name: str, scope: Scope) -> Scope:
    """Return the scope around another whose variable a statement lets that one bind."""
    around = [each for each in _chain(scope)[1:-1] if name in each.values]
    return around[0] if isinstance(node, ast.Nonlocal) and around else scope.module


@lru_cache(maxsize=16)
def _built_in(block: ast.AST) -> Mapping[str, Built]:
    """Return how a block builds each variable; without those that may change in other ways."""
    found: dict[str, list[Addition]] = {}
    loads: list[ast.Name] = []
    harmless: set[ast.AST] = set()
    read: set[str] = set()
    for node in ast.walk(block):
        match node:
            case ast.Name(id=name, ctx=context):
                found.setdefault(name, [])
                loads += [node] if isinstance(context, ast.Load) else []
            case ast.Assign(
                targets=[ast.Subscript(value=ast.Name() as target, slice=ast.Constant(value=str()) as key)],
                value=value,
            ):
                found.setdefault(target.id, []).append((key, value))
                harmless.add(target)
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(value=ast.Name() as target, attr="update")) as call
            ):
                found.setdefault(target.id, []).append(call)
                harmless.add(target)
            case ast.keyword(value=ast.Name() as given) | ast.Return(value=ast.Name() as given):
                harmless.add(given)
            case ast.Subscript(value=ast.Name() as owner, ctx=ast.Load()):
                harmless.add(owner)
                read.add(owner.id)
            case ast.Attribute(value=ast.Name() as owner, attr=method) if method in _READS:
                harmless.add(owner)
                read.add(owner.id)
            case ast.Dict(values=values) | ast.Call(func=ast.Attribute(attr="render"), args=values):
                harmless.update(values)
    changed = {node.id for node in loads if node not in harmless}
    return {name: Built(tuple(each), name in read) for name, each in found.items() if name not in changed}


def attribute_value(scope: Scope, name: str, attribute: str) -> ast.expr | None:
    """Return the one expression that `name.attribute` refers to in a scope, or None.

    `name` is the name of a class, or a method's name for its instance or class. The expression has the same
    meaning in any scope: the names that it reads are bound in the module.
    """
    module = scope.module
    owner = _referenced_class(scope, name)
    if owner is None:
        return None
    family = _related_classes(module, owner)
    found: list[tuple[Scope, ast.expr | None]] = []
    for each in family:
        body = next((scope for scope in module.inner if scope.node is each), None)
        found += [(body, value) for value in body.values.get(attribute, ())] if body is not None else []
    for assigned in module.attributes:
        if assigned.attribute != attribute:
            continue
        of = _referenced_class(assigned.scope, assigned.name)
        if of is None:  # an object of an unknown class, which may be this one
            return None
        if of in family:
            found.append((assigned.scope, assigned.value))
    where, value = found[0] if len(found) == 1 else (scope, None)
    return value if value is not None and _has_same_meaning(value, where, scope, module) else None


def _chain(scope: Scope) -> list[Scope]:
    found = [scope]
    while found[-1].outer is not None:
        found.append(found[-1].outer)
    return found


def _referenced_class(scope: Scope, name: str) -> ast.ClassDef | None:
    """Return the class that a name refers to, or is an instance of."""
    for each in _chain(scope):
        if name not in each.values:
            continue
        if each.outer is None:
            return _named_class(each, name)
        node, around = each.node, each.outer.node
        if (
            not isinstance(node, Function)
            or not isinstance(around, ast.ClassDef)
            or each.values[name] != [None]
        ):
            return None
        arguments = [*node.args.posonlyargs, *node.args.args]
        is_static = any(getattr(each, "id", "") == "staticmethod" for each in node.decorator_list)
        return around if arguments and arguments[0].arg == name and not is_static else None
    return None


def _named_class(module: Scope, name: str) -> ast.ClassDef | None:
    """Return the class of this name if the module binds the name to nothing else."""
    if module.values.get(name) != [None]:
        return None
    named = (node for node in module.tree.body if isinstance(node, ast.ClassDef) and node.name == name)
    return next(named, None)


def _related_classes(module: Scope, owner: ast.ClassDef) -> list[ast.ClassDef]:
    """Return the class, its base classes in the module, and the classes that are derived from it."""
    classes = [node for node in module.tree.body if isinstance(node, ast.ClassDef)]
    above, below = [owner], [owner]
    for each in above:
        bases = {base.id for base in each.bases if isinstance(base, ast.Name)}
        above += [other for other in classes if other.name in bases and other not in above]
    for each in below:
        below += [
            other
            for other in classes
            if other not in below
            and any(isinstance(base, ast.Name) and base.id == each.name for base in other.bases)
        ]
    return [*above, *below[1:]]


def _has_same_meaning(value: ast.expr, where: Scope, scope: Scope, module: Scope) -> bool:
    """Return whether every name in an expression is bound by the module in both scopes."""
    for node in ast.walk(value):
        if isinstance(node, ast.Name):
            for start in (where, scope):
                bound = next((each for each in _chain(start) if node.id in each.values), module)
                if bound is not module:
                    return False
    return True
