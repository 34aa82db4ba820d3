"""Data to render with where nobody has given any: made from how the template uses its inputs."""

from __future__ import annotations

from typing import Any, Final

from promptls.meaning.header import InputKey
from promptls.meaning.template import Template
from promptls.syntax.jinja.nodes import (
    Attribute,
    Call,
    Collection,
    Constant,
    Expression,
    Filter,
    Item,
    Name,
    Operation,
    Slice,
    Statement,
    walk,
)
from promptls.syntax.jinja.problems import tag_tree

_ELEMENT: Final = object()
"""Stands in a path for "one element of the list"."""
_NUMBER: Final = object()
"""Stands at the end of a path for "this is counted or compared with a number"."""
_KEY: Final = "key"
"""The one key of a mapping that is only ever iterated over."""
_NUMERIC: Final = frozenset({"<", "<=", ">", ">=", "+", "-", "/", "//", "%", "**"})
_METHODS: Final = frozenset({"items", "keys", "values", "get", "pop"})
_BY_TYPE: Final[dict[str, Any]] = {
    "integer": 1,
    "number": 1.0,
    "boolean": True,
    "array": [],
    "object": {},
    "null": None,
}
_TURNS: Final = 2
"""How many elements a list has: two show what a loop repeats."""

_MOST_STEPS: Final = 20
"""How deep made-up data nests; loops over their own elements go deeper for nothing."""

_Path = tuple[object, ...]
_Tree = dict[object, Any]


def placeholder_data(template: Template) -> dict[str, Any]:
    """A value for every input of the template: text, or a list or mapping where it is used as one.

    Declared types, defaults and `enum` values go before what the use suggests. Inputs that are
    called get none, because data has no functions.
    """
    inputs = template.names.inputs()
    uses = _uses(template)
    declared = {key.name: key for key in template.declarations.inputs or ()}
    names = [*declared, *(name for name in inputs if name not in declared)]
    called = {name for name, readings in inputs.items() if any(reading.how == "call" for reading in readings)}
    return {
        name: _declared_value(declared[name], uses.get(name, {}))
        if name in declared
        else _value(name, uses.get(name, {}))
        for name in names
        if name in declared or name not in called
    }


def _declared_value(key: InputKey, used: _Tree) -> Any:
    if "default" in key.schema:
        return key.schema["default"]
    if isinstance(key.schema.get("enum"), list) and key.schema["enum"]:
        return key.schema["enum"][0]
    kind = key.schema.get("type")
    if isinstance(kind, str) and kind in _BY_TYPE and not (kind in {"array", "object"} and used):
        return _BY_TYPE[kind]
    return _value(key.name, used)


def _value(name: str, used: _Tree) -> Any:
    if _NUMBER in used:
        return _TURNS
    if _ELEMENT in used:
        return [_value(f"{name} {number}", used[_ELEMENT]) for number in range(1, _TURNS + 1)]
    if used:
        return {key: _value(f"{name}.{key}", below) for key, below in used.items()}
    return f"<{name}>"


def _uses(template: Template) -> dict[str, _Tree]:
    """How each variable is used: its attributes and keys, and those of its elements, as a tree."""
    root: _Tree = {}
    loops: dict[str, _Path] = {}
    for chunk in template.source.chunks:
        for tag in chunk.tags:
            if tag.kind in {"output", "statement"}:
                _note(tag_tree(tag).statement, root, loops)
    return {str(name): tree for name, tree in root.items()}


def _note(statement: Statement, root: _Tree, loops: dict[str, _Path]) -> None:
    for expression in statement.expressions:
        _note_uses(expression, root, loops)
    if statement.keyword == "for" and statement.expressions:
        path = _path(statement.expressions[0], loops)
        target = statement.targets[0] if statement.targets else None
        if path and isinstance(target, Name):
            loops[target.name] = (*path, _ELEMENT)
            _add(root, loops[target.name])
        elif isinstance(target, Collection):
            for item in target.items:
                if isinstance(item, Name):
                    loops.pop(item.name, None)
    if statement.loop_test is not None:
        _note_uses(statement.loop_test, root, loops)


def _note_uses(expression: Expression, root: _Tree, loops: dict[str, _Path]) -> None:
    methods = {
        id(node.function)
        for node in walk(expression)
        if isinstance(node, Call) and isinstance(node.function, Attribute) and node.function.name in _METHODS
    }
    for node in walk(expression):
        for counted in _counted(node):
            if isinstance(counted, (Name, Attribute, Item)) and (path := _path(counted, loops)):
                _add(root, (*path, _NUMBER))
        if id(node) not in methods and (path := _path(node, loops)):
            _add(root, path)


def _counted(node: Expression) -> tuple[Expression, ...]:
    """The expressions inside `node` that must be numbers: in `range(…)`, or beside a number."""
    match node:
        case Call(function=Name(name="range"), arguments=arguments):
            return arguments
        case Operation(operators=(operator,), operands=(left, right)) if operator in _NUMERIC:
            return tuple(one for one, other in ((left, right), (right, left)) if _is_number(other))
        case _:
            return ()


def _is_number(node: Expression) -> bool:
    return isinstance(node, Constant) and type(node.value) in {int, float}


def _path(node: Expression, loops: dict[str, _Path]) -> _Path:
    """The way from a variable to what the expression reads; empty where it is no such way."""
    match node:
        case Name(name=name):
            return loops.get(name, (name,))
        case Attribute(target=target, name=name):
            above = _path(target, loops)
            return (*above, name) if above and name else ()
        case Item(target=target, key=Constant(value=str() as key)):
            above = _path(target, loops)
            return (*above, key) if above else ()
        case Item(target=target, key=Slice()):
            return _path(target, loops)
        case Filter(target=target) if target is not None:
            return _path(target, loops)
        case Call(function=Attribute(target=target, name=name)) if name in _METHODS:
            above = _path(target, loops)
            return (*above, _KEY) if above and name != "get" else above
        case Call(function=Name(name=name), arguments=(first, *_)) if name != "range":
            return _path(first, loops)
        case _:
            return ()


def _add(root: _Tree, path: _Path) -> None:
    tree = root
    for step in path[:_MOST_STEPS]:
        tree = tree.setdefault(step, {})
