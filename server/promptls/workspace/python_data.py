"""The keys of the data that a Python call passes: literal, set one by one, or from functions and classes."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

from promptls.syntax.python_places import Function, dict_items, last_name
from promptls.workspace.python_scopes import Scope, returned_values

_MAX_STEPS: Final = 5
"""How many variables and functions are followed to the data of a call."""
_DUMPS: Final = frozenset({"model_dump", "dict", "_asdict"})
"""Methods that return the fields of an object as a dict."""
_FIELD_CLASSES: Final = frozenset({"BaseModel", "NamedTuple", "object", "Generic", "ABC"})
"""The classes of other modules whose subclasses have the fields that are written in them, and no others."""


class DataEntry(NamedTuple):
    """A key of the data, where the program writes it, and its value in the meaning of a scope.

    The place is None for the field of a class, and the value is None if it may have changed.
    """

    key: str
    place: ast.expr | ast.keyword | None
    value: ast.expr | None
    scope: Scope


def entries_of(node: ast.expr | None, scope: Scope, steps: int = 0) -> list[DataEntry] | None:
    """Return the entries of a dict, also in a variable, from a function or of an object; None if unsure.

    A function must have no decorator, and one `return`.
    """
    if steps > _MAX_STEPS:
        return None
    match node:
        case ast.Dict():
            return _of_dict(node, scope, steps)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _joined([entries_of(left, scope, steps + 1), entries_of(right, scope, steps + 1)])
        case ast.Name(id=name):
            return _of_variable(name, scope, steps + 1)
        case ast.Call(func=ast.Name(id="dict")):
            return _of_dict(node, scope, steps)
        case ast.Call(func=ast.Attribute(value=value, attr="copy"), args=[], keywords=[]):
            return entries_of(value, scope, steps + 1)
        case ast.Call(args=[given], keywords=[]) if last_name(node.func) in {"asdict", "vars"}:
            return _of_object(given, scope)
        case ast.Call(func=ast.Attribute(value=given, attr=method), args=[], keywords=[]) if method in _DUMPS:
            return _of_object(given, scope)
        case ast.Call(func=ast.Name(id=name)) | ast.Await(value=ast.Call(func=ast.Name(id=name))):
            function = scope.function_of(name)
            is_right = isinstance(function, ast.AsyncFunctionDef) is isinstance(node, ast.Await)
            return _returned(function, scope, steps + 1) if is_right else None
    return None


def _joined(parts: list[list[DataEntry] | None]) -> list[DataEntry] | None:
    """Return all the entries, or None if any are unknown."""
    known = [each for each in parts if each is not None]
    return [entry for each in known for entry in each] if len(known) == len(parts) else None


def _of_dict(node: ast.Dict | ast.Call, scope: Scope, steps: int) -> list[DataEntry] | None:
    """Return the entries of a dict in braces, of a call of `dict`, or of a method `update`."""
    given = node.args if isinstance(node, ast.Call) else []
    parts = [entries_of(each, scope, steps + 1) for each in given]
    for name, place, value in dict_items(node):
        known = None if name is None else [DataEntry(name, place, value, scope)]
        parts.append(entries_of(value, scope, steps + 1) if place is None else known)
    return _joined(parts)


def _of_variable(name: str, scope: Scope, steps: int) -> list[DataEntry] | None:
    """Return the entries of a variable that is bound once, with those that are added to it anywhere."""
    owner = scope.scope_of(name)
    if owner is None:
        return None
    made = entries_of(owner.value_of(name), owner, steps)
    built = owner.built(name)
    if made is None or built is None:
        return None
    parts: list[list[DataEntry] | None] = [made]
    for each in built.additions:
        if isinstance(each, ast.Call):
            parts.append(_of_dict(each, owner, steps))
        else:
            key, value = each
            parts.append([DataEntry(str(key.value), key, value, owner)])
    joined = _joined(parts)
    if joined is None:
        return None
    often = Counter(each.key for each in joined)
    return [each._replace(value=None) if built.is_read or often[each.key] > 1 else each for each in joined]


def _returned(function: Function | None, scope: Scope, steps: int) -> list[DataEntry] | None:
    """Return the entries of the dict that a function of the module returns."""
    inner = next((each for each in scope.module.inner if each.node is function), None)
    if function is None or inner is None:
        return None
    values = returned_values(function)
    return entries_of(values[0], inner, steps) if len(values) == 1 else None


# -- objects -----------------------------------------------------------------------------


def object_class(node: ast.expr | None, scope: Scope) -> ast.ClassDef | None:
    """Return the class of the module that a value is an instance of, by its call or its annotation."""
    made = scope.resolved(node)
    match made:
        case ast.Call(func=ast.Name(id=name)):
            return scope.class_of(name)
    annotation = scope.annotation_of(node.id) if isinstance(node, ast.Name) else None
    return scope.class_of(annotation.id) if isinstance(annotation, ast.Name) else None


def is_record(owner: ast.ClassDef) -> bool:
    """Return whether a class is a dataclass or a model of pydantic, whose instances are no mappings."""
    decorators = {ast.unparse(each).partition("(")[0].rpartition(".")[2] for each in owner.decorator_list}
    bases = {last_name(each) for each in owner.bases}
    return bases == {"BaseModel"} or ("dataclass" in decorators and not bases)


def _of_object(node: ast.expr, scope: Scope) -> list[DataEntry] | None:
    """Return the fields of an object; None if its class, or one derived from it, may have others."""
    owner = object_class(node, scope)
    classes = {each.name: each for each in scope.tree.body if isinstance(each, ast.ClassDef)}
    derived = {last_name(base) for each in classes.values() for base in each.bases}
    if owner is None or owner.name in derived:
        return None
    names: list[str] = []
    waiting = [owner]
    for each in waiting:
        names += _fields(each)
        for base in each.bases:
            name = last_name(base.value if isinstance(base, ast.Subscript) else base)
            if name in classes and classes[name] not in waiting:
                waiting.append(classes[name])
            elif name not in _FIELD_CLASSES:
                return None
    nodes = (node for each in waiting for node in ast.walk(each))
    is_configured = any(isinstance(node, ast.Name) and node.id == "model_config" for node in nodes)
    is_open = is_configured or any(each.keywords for each in waiting)
    return None if is_open else [DataEntry(name, None, None, scope) for name in names]


def _fields(owner: ast.ClassDef) -> Iterator[str]:
    """Yield the annotated names of a class, and its methods that are decorated, which may be fields too."""
    for node in owner.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id
        elif isinstance(node, ast.FunctionDef) and node.decorator_list:
            yield node.name
