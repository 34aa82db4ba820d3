"""The shapes of the values of Python expressions, as far as they are literal or annotated; nothing is run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from promptls.semantic.types.assignability import (
    NOTHING,
    KnownFunction,
    KnownValue,
    constant,
    either,
    rows,
)
from promptls.semantic.types.shape import UNKNOWN, Shape
from promptls.workspace.python_functions import parameters_of
from promptls.workspace.python_scopes import Scope

_MAX_STEPS: Final = 20


def given_shape(node: ast.expr, scope: Scope, depth: int = 0) -> Shape:
    """Return the shape of an expression's value; unknown if it is not literal.

    Values of a mapping whose keys are not literal are represented by an `element` without a shape.
    """
    if depth > _MAX_STEPS:
        return UNKNOWN
    match node:
        case ast.Name(id=name):
            return _of_name(name, scope, depth)
        case ast.Lambda(args=arguments):
            return KnownFunction(parameters=parameters_of(arguments))
        case ast.Constant(value=value):
            return constant(value)
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return rows(given_shape(item, scope, depth + 1) for item in items)
        case ast.ListComp(elt=item):
            return rows([given_shape(item, scope, depth + 1)])
        case ast.IfExp(body=one, orelse=other):
            return either([given_shape(each, scope, depth + 1) for each in (one, other)])
        case ast.Dict() | ast.Call(func=ast.Name(id="dict"), args=[]):
            return _of_dict(node, scope, depth)
        case ast.Call(func=ast.Name(id=name)):
            function = scope.function_of(name)
            made = function.returns if function is not None else ast.Name(_RETURNED.get(name, name))
            return annotated_shape(made, scope)
        case ast.Call(func=ast.Attribute(value=value, attr=name)) if name in _IN_PLACE:
            bound = scope.value_of(value.id) if isinstance(value, ast.Name) else None
            is_list = isinstance(bound, ast.List | ast.ListComp)
            return NOTHING if is_list or ast.unparse(node.func) == "random.shuffle" else UNKNOWN
    return _of_text(node, scope, depth)


def _of_text(node: ast.expr, scope: Scope, depth: int) -> Shape:
    """Return the shape of a text that is put together; unknown for other expressions."""
    match node:
        case ast.JoinedStr():
            return _text([_piece(each, scope, depth) for each in node.values])
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            pieces = [_piece(each, scope, depth) for each in (left, right)]
            return _text(pieces) if any(pieces) else UNKNOWN
        case ast.Call(
            func=ast.Attribute(value=ast.Constant(value=str() as between), attr="join"), args=[items]
        ):
            return _joined_text(between, items, scope, depth)
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="json"), attr="dumps"), args=[ast.Dict(keys=[_, *_])]
        ):
            return constant(f'{{"{ELSE}": {ELSE}}}')
    return UNKNOWN


def _of_name(name: str, scope: Scope, depth: int) -> Shape:
    value = scope.constant_of(name)
    if value is None:
        bound = scope.value_of(name)
        pieces = [bound.body, bound.orelse] if isinstance(bound, ast.IfExp) else [bound]
        if all(isinstance(each, ast.Constant | ast.JoinedStr) for each in pieces):
            value = bound  # which cannot be changed in place
    if value is not None:
        return given_shape(value, scope, depth + 1)
    function = scope.function_of(name)
    if function is not None:
        return KnownFunction(parameters=parameters_of(function.args), returned=_returned(function, scope))
    shape = annotated_shape(scope.annotation_of(name), scope)
    return UNKNOWN if shape.kind in {"list", "mapping"} and name in scope.touched else shape


def _returned(function: ast.FunctionDef, scope: Scope) -> Shape:
    """Return the shape of what a function returns, with its values if all of them are literal."""
    values = [node.value for node in ast.walk(function) if isinstance(node, ast.Return)]
    shapes = [given_shape(each, scope) for each in values if isinstance(each, ast.Constant | ast.IfExp)]
    return either(shapes) if len(shapes) == len(values) and shapes else UNKNOWN


_RETURNED: Final = {"len": "int", "sorted": "list"}
"""The types that functions of Python return."""
_IN_PLACE: Final = frozenset({"append", "extend", "insert", "remove", "reverse", "shuffle", "sort"})
"""Methods of lists, and a function of `random`, that return None."""
_ANNOTATIONS: Final[Mapping[str, Shape]] = {
    "str": Shape("text"),
    "int": Shape("number"),
    "float": Shape("number"),
    "bool": Shape("boolean"),
    "list": Shape("list"),
    "List": Shape("list"),
    "dict": Shape("mapping", element=UNKNOWN),
    "Dict": Shape("mapping", element=UNKNOWN),
}


def annotated_shape(node: ast.expr | None, scope: Scope, depth: int = 0) -> Shape:
    """Return the shape of the values that an annotation describes; unknown if it is not a plain one."""
    if depth > _MAX_STEPS:
        return UNKNOWN
    match node:
        case ast.Name(id=name):
            if name in _ANNOTATIONS:
                return _ANNOTATIONS[name]
            owner = scope.class_of(name)
            return _of_class(owner, scope, depth) if owner is not None else UNKNOWN
        case ast.Subscript(value=ast.Name(id="list" | "List"), slice=item):
            return rows([annotated_shape(item, scope, depth + 1)])
        case ast.Subscript(value=ast.Name(id="dict" | "Dict")):
            return _ANNOTATIONS["dict"]
    return UNKNOWN


def _of_class(owner: ast.ClassDef, scope: Scope, depth: int) -> Shape:
    """Return the shape of the instances of a dataclass, of named tuples and of typed dicts."""
    decorators = {ast.unparse(each).partition("(")[0] for each in owner.decorator_list}
    bases = {ast.unparse(each) for each in owner.bases}
    is_plain = (decorators <= {"dataclass", "dataclasses.dataclass"} and not bases) or (
        not decorators and bases in ({"TypedDict"}, {"typing.TypedDict"})
    )
    names = {node.name for node in owner.body if isinstance(node, ast.FunctionDef)}
    if not is_plain or not (decorators or bases) or owner.keywords or "__getattr__" in names:
        return UNKNOWN
    fields = {
        node.target.id: annotated_shape(node.annotation, scope, depth + 1)
        for node in owner.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    return Shape("mapping", keys=tuple(sorted((dict.fromkeys(names, UNKNOWN) | fields).items())))


ELSE: Final = "…"
"""The placeholder in a text for pieces that are not literal."""
_BREAKING: Final = re.compile(r'[\n"]')


def _text(pieces: Iterable[str | None]) -> Shape:
    """Return the shape of a concatenation, with its value if all of it is known, or what may break YAML."""
    known = list(pieces)
    made = "".join(ELSE if piece is None else piece for piece in known)
    return constant(made) if None not in known or _BREAKING.search(made) else Shape("text")


def _piece(node: ast.expr, scope: Scope, depth: int) -> str | None:
    shape = given_shape(node, scope, depth + 1)
    return shape.value if isinstance(shape, KnownValue) and isinstance(shape.value, str) else None


def _joined_text(between: str, items: ast.expr, scope: Scope, depth: int) -> Shape:
    """Return the shape of `between.join(items)`; items that are not literal are assumed to be several."""
    if isinstance(items, ast.Name):
        items = scope.constant_of(items.id) or items
    if not isinstance(items, ast.List | ast.Tuple):
        return _text([None, between, None])
    pieces: list[str | None] = []
    for item in items.elts:
        pieces += [*([between] if pieces else []), _piece(item, scope, depth)]
    return _text(pieces)


def _of_dict(node: ast.Dict | ast.Call, scope: Scope, depth: int) -> Shape:
    keys: dict[str, Shape] = {}
    is_open = False
    for key, value in _entries(node):
        if isinstance(key, str):
            keys[key] = given_shape(value, scope, depth + 1)
        else:  # it may also contain any of the preceding keys
            keys = dict.fromkeys(keys, UNKNOWN)
            is_open = True
    return Shape("mapping", keys=tuple(sorted(keys.items())), element=UNKNOWN if is_open else None)


def _entries(node: ast.Dict | ast.Call) -> Iterator[tuple[object, ast.expr]]:
    """Yield the literal keys of a dict with their values; None for any other key."""
    if isinstance(node, ast.Call):
        yield from ((keyword.arg, keyword.value) for keyword in node.keywords)
        return
    for key, value in zip(node.keys, node.values, strict=True):
        yield key.value if isinstance(key, ast.Constant) else None, value
