"""What `self.name` stands for in a class: what its methods or its body assign once.

A class counts with those of the same file that it is derived from and that are derived from it, so
that a name which one of them gives another value stands for nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from promptls.workspace.python_scopes import Scope


def attribute_value(scope: Scope, name: str, attribute: str) -> ast.expr | None:
    """The one expression that `name.attribute` stands for in a scope; None where there is none.

    `name` is what a method calls its instance or class, or the name of a class. The expression means the
    same wherever it stands: what it reads is bound in the module.
    """
    module = _chain(scope)[-1]
    owner = _class_meant(scope, name)
    if owner is None:
        return None
    family = _family(module, owner)
    found: list[tuple[Scope, ast.expr | None]] = []
    for each in family:
        body = _body_of(module, each)
        found += [(body, value) for value in body.values.get(attribute, ())] if body is not None else []
    for assigned in module.attributes:
        if assigned.attribute != attribute:
            continue
        of = _class_meant(assigned.scope, assigned.name)
        if of is None:  # an object of an unknown class, which may be this one
            return None
        if of in family:
            found.append((assigned.scope, assigned.value))
    where, value = found[0] if len(found) == 1 else (scope, None)
    return value if value is not None and _means_the_same(value, where, scope, module) else None


def meaning_in(scope: Scope) -> Callable[[str], ast.expr | None]:
    """What a name, or `self.name`, stands for in a scope."""

    def meaning(name: str) -> ast.expr | None:
        owner, dot, attribute = name.partition(".")
        return attribute_value(scope, owner, attribute) if dot else scope.value_of(name)

    return meaning


def _chain(scope: Scope) -> list[Scope]:
    found = [scope]
    while found[-1].outer is not None:
        found.append(found[-1].outer)
    return found


def _class_meant(scope: Scope, name: str) -> ast.ClassDef | None:
    """The class that a name is an instance of, or stands for itself."""
    for each in _chain(scope):
        if name not in each.values:
            continue
        if each.outer is None:
            return _named_class(each, name)
        node, around = each.node, each.outer.node
        is_method = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        if not is_method or not isinstance(around, ast.ClassDef) or each.values[name] != [None]:
            return None
        assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        arguments = [*node.args.posonlyargs, *node.args.args]
        is_static = any(getattr(each, "id", "") == "staticmethod" for each in node.decorator_list)
        return around if arguments and arguments[0].arg == name and not is_static else None
    return None


def _named_class(module: Scope, name: str) -> ast.ClassDef | None:
    """The class of this name, where the module gives the name nothing else."""
    if module.values.get(name) != [None] or not isinstance(module.node, ast.Module):
        return None
    named = (node for node in module.node.body if isinstance(node, ast.ClassDef) and node.name == name)
    return next(named, None)


def _family(module: Scope, owner: ast.ClassDef) -> list[ast.ClassDef]:
    """The class, those of the module that it is derived from, and those that are derived from it."""
    body = module.node.body if isinstance(module.node, ast.Module) else []
    classes = [node for node in body if isinstance(node, ast.ClassDef)]
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


def _body_of(module: Scope, owner: ast.ClassDef) -> Scope | None:
    """The scope of a class's body."""
    return next((scope for scope in module.inner if scope.node is owner), None)


def _means_the_same(value: ast.expr, where: Scope, scope: Scope, module: Scope) -> bool:
    """Whether every name in an expression is one of the module's in both scopes."""
    for node in ast.walk(value):
        if isinstance(node, ast.Name):
            for start in (where, scope):
                bound = next((each for each in _chain(start) if node.id in each.values), module)
                if bound is not module:
                    return False
    return True
