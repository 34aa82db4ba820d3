"""The Python types of values that a file sets itself: literals, results of filters, and variables of these."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import GeneratorType
from typing import Final, NamedTuple

from markupsafe import Markup

from promptls.lint.rule import File
from promptls.semantic.flow.uses import TEXT_FILTERS
from promptls.semantic.names.scopes import BINDING_KINDS, Binding
from promptls.semantic.names.template_names import statement_at
from promptls.syntax.chunk import Chunk
from promptls.syntax.facts import summary, union
from promptls.syntax.jinja.nodes import (
    Attribute,
    Call,
    Collection,
    Constant,
    Expression,
    Filter,
    Name,
    Operation,
    Statement,
    walk,
)
from promptls.syntax.jinja.problems import expressions_in, loops_in

_OF_LISTS: Final = frozenset({"dictsort", "groupby", "list", "sort"})
LAZY: Final = frozenset(
    {"batch", "items", "map", "reject", "rejectattr", "select", "selectattr", "slice", "unique"}
)
"""Filters that return an iterator, which computes each element when a loop or another filter asks for it."""
_OF_NUMBERS: Final[dict[str, type]] = {
    **dict.fromkeys(("count", "int", "length", "wordcount"), int),
    **dict.fromkeys(("float", "round"), float),
}
_COUNTERS: Final = frozenset({"depth", "depth0", "index", "index0", "length", "revindex", "revindex0"})
"""The attributes of `loop` that are numbers."""
_ARITHMETIC: Final = frozenset({"+", "-", "*", "/", "//", "%", "**"})
NUMBERS: Final[frozenset[type | None]] = frozenset({int, float})
_TEXT_METHODS: Final = frozenset(
    {
        "capitalize", "casefold", "format", "join", "lower", "lstrip", "replace", "rstrip", "strip",
        "title", "upper",
    }
)  # fmt: skip
"""Methods of texts that return texts."""
_SPLITTING: Final = frozenset({"rsplit", "split", "splitlines"})
_CONTAINERS: Final[dict[str, type]] = {"list": list, "tuple": tuple, "dict": dict}
_REVERSED: Final[dict[type, type]] = {
    Markup: Markup,
    **dict.fromkeys((list, tuple, dict, GeneratorType), GeneratorType),
}
"""The types of what `reverse` returns."""
_CHANGING: Final = frozenset({"append", "extend", "insert"})


class Group(NamedTuple):
    """An element of what the filter `groupby` returns."""

    grouper: object
    list: list[object]


class LiteralTypes:
    """The types of expressions in a file, each None if it may have others.

    A text is `Markup`, which has all methods of `str`. The types of variables are found once.
    """

    def __init__(self, file: File) -> None:
        self._file: Final = file
        self._of_names: Final[dict[str, type | None]] = {}
        self._bindings: dict[str, list[Binding]] | None = None

    def type_of(self, node: Expression) -> type | None:
        """Return the type of an expression."""
        return type_of(node, self.type_of_name)

    def type_of_name(self, name: str) -> type | None:
        """Return the type of the values that a variable has in the file."""
        if name not in self._of_names:
            self._of_names[name] = None  # while it is unknown, as in `set x = x.strip()`
            self._of_names[name] = self._find(name)
        return self._of_names[name]

    def _find(self, name: str) -> type | None:
        names = self._file.template.names
        kinds = [kind for kind in BINDING_KINDS if name in names.bound_names(kind)]
        if name in names.input_names or kinds not in (["set"], ["for"]):
            return None
        if kinds == ["set"]:
            return _only(self._type_of_value(each) for each in self._bindings_of(name))
        return _only(
            self._type_of_element(source) for loop, source in _sources(self._file.chunks) if loop == name
        )

    def _bindings_of(self, name: str) -> list[Binding]:
        if self._bindings is None:
            self._bindings = {}
            for each in self._file.template.names.bindings_of("set"):
                self._bindings.setdefault(each.name, []).append(each)
        return self._bindings.get(name, [])

    def _type_of_value(self, binding: Binding) -> type | None:
        statement = _of_one_name(self._file, binding)
        if statement is None:
            return None
        if statement.opens_block:
            return None if statement.expressions else Markup
        return self.type_of(statement.expressions[0]) if len(statement.expressions) == 1 else None

    def _type_of_element(self, source: type | str | None) -> type | None:
        """Return the type of the elements that a loop takes from a source, as in `_sources`."""
        if isinstance(source, str):
            known = _elements_of(self._only_value(source))
            return None if isinstance(known, str) else known
        is_range = source is int and "range" in self._file.template.names.all_bound_names
        return None if is_range else source

    def _only_value(self, name: str) -> Expression | None:
        """Return the value of a variable that is set once and not changed."""
        if self.type_of_name(name) is None or name in _changed(self._file.chunks):
            return None
        bindings = self._bindings_of(name)
        statement = _of_one_name(self._file, bindings[0]) if len(bindings) == 1 else None
        return statement.first if statement is not None else None


def _sources_in(chunk: Chunk) -> frozenset[tuple[str, type | str | None]]:
    """Return the variables of the chunk's loops, each with the type of its elements.

    It is the name of a variable if the loop iterates over that, and None if it is unknown.
    """
    found: set[tuple[str, type | str | None]] = set()
    for _, loop in loops_in(chunk):
        names = [node.name for target in loop.targets for node in walk(target) if isinstance(node, Name)]
        is_single = len(loop.targets) == 1 and isinstance(loop.targets[0], Name)
        known = _elements_of(loop.expressions[0]) if is_single else None
        found.update((name, known) for name in names)
        match loop.targets, loop.expressions[0]:
            case (Collection(items=(Name(), Name(name=name))),), Filter(name="groupby"):
                found.discard((name, None))
                found.add((name, list))
    return frozenset(found)


_sources: Final = summary(_sources_in, union)


def _elements_of(source: Expression | None) -> type | str | None:
    """Return the type of the elements of a value, or the name of a variable, as in `_sources`."""
    match source:
        case Name(name=name):
            return name
        case Call(function=Name(name="range")):
            return int
        case Call(function=Attribute(name="items"), arguments=()) | Filter(name="dictsort" | "items"):
            return tuple
        case Filter(name="groupby"):
            return Group
        case Filter(name="batch" | "slice"):
            return list
        case Collection(kind=kind, items=items) if kind != "dict":
            return _only(type_of(item, lambda _name: None) for item in items)
    return None


def types_of_variables(file: File) -> dict[str, type]:
    """Return the known types of the variables that the file sets."""
    types = LiteralTypes(file)
    found = {name: types.type_of_name(name) for name in file.template.names.bound_names("set")}
    return {name: known for name, known in found.items() if known is not None}


def type_of(node: Expression, of_name: Callable[[str], type | None]) -> type | None:
    """Return the type of an expression; `of_name` returns that of a variable."""
    match node:
        case Constant(value=str()):
            return Markup
        case Constant(value=bool() | int() | float()):
            return type(node.value)
        case Collection(kind=kind):
            return _CONTAINERS.get(kind)
        case Operation(operators=operators) if set(operators) == {"~"}:
            return Markup
        case Operation(operators=operators, operands=operands) if _ARITHMETIC.issuperset(operators):
            return _type_of_result(operators, [type_of(each, of_name) for each in operands])
        case Filter(name="reverse", target=target) if target is not None:
            return _REVERSED.get(type_of(target, of_name) or int)
        case Filter(name=name):
            return _type_of_filter(name)
        case Attribute(target=Name(name="loop"), name=name) if name in _COUNTERS:
            return int
        case Call(function=Attribute(target=target, name=name)) if name in _TEXT_METHODS | _SPLITTING:
            is_text = type_of(target, of_name) is Markup
            return None if not is_text else list if name in _SPLITTING else Markup
        case Name(name=name):
            return of_name(name)
    return None


def _type_of_filter(name: str) -> type | None:
    if name in TEXT_FILTERS:
        return Markup
    if name in LAZY:
        return GeneratorType
    return list if name in _OF_LISTS else _OF_NUMBERS.get(name)


def _type_of_result(operators: Sequence[str], operands: list[type | None]) -> type | None:
    """Return the type of an arithmetic operation.

    The sum of a text and another value is a text, or fails for that reason.
    """
    if NUMBERS.issuperset(operands):
        return int if "/" not in operators and set(operands) == {int} else float
    return Markup if set(operators) == {"+"} and Markup in operands else None


def _of_one_name(file: File, binding: Binding) -> Statement | None:
    """Return the statement that binds a name, if it binds no other."""
    statement = statement_at(file.template, binding.span.start)
    is_single = (
        statement is not None and len(statement.targets) == 1 and isinstance(statement.targets[0], Name)
    )
    return statement if is_single else None


def _only(types: Iterable[type | None]) -> type | None:
    """Return the type if all are the same, or None."""
    found = set(types)
    return found.pop() if len(found) == 1 else None


def _changed_in(chunk: Chunk) -> frozenset[str]:
    """Return the variables to which a tag of the chunk may add elements."""
    return frozenset(
        node.target.name
        for _, node in expressions_in(chunk)
        if isinstance(node, Attribute) and node.name in _CHANGING and isinstance(node.target, Name)
    )


_changed: Final = summary(_changed_in, union)
