"""The Python types of values that a file sets itself: literals, results of filters, and variables of these."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from markupsafe import Markup

from promptls.lint.rule import File
from promptls.semantic.names.scopes import Binding, NameReference
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
)
from promptls.syntax.jinja.problems import expressions_in
from promptls.text.positions import Span

_OF_TEXTS: Final = frozenset(
    {
        "capitalize", "center", "e", "escape", "filesizeformat", "forceescape", "format", "indent", "join", "lower",
        "pprint", "replace", "safe", "string", "striptags", "title", "tojson", "trim", "truncate", "upper",
        "urlencode", "wordwrap",
    }
)  # fmt: skip
"""Filters that return texts, possibly marked as safe."""
_OF_LISTS: Final = frozenset({"dictsort", "list", "sort"})
_OF_COUNTS: Final = frozenset({"count", "length", "wordcount"})
_TEXT_METHODS: Final = frozenset(
    {
        "capitalize",
        "casefold",
        "format",
        "join",
        "lower",
        "lstrip",
        "replace",
        "rstrip",
        "strip",
        "title",
        "upper",
    }
)
"""Methods of texts that return texts."""
_SPLITTING: Final = frozenset({"rsplit", "split", "splitlines"})
_CONTAINERS: Final[dict[str, type]] = {"list": list, "tuple": tuple, "dict": dict}
_CHANGING: Final = frozenset({"append", "extend", "insert"})
_MAX_DEPTH: Final = 5
"""How many variables a type is followed through."""


def literal_type(file: File, node: Expression, start: int, depth: int = _MAX_DEPTH) -> type | None:
    """Return the type of an expression in the tag at offset `start` of the file, or None if it may have others.

    A text is `Markup`, which has all methods of `str`.
    """
    match node:
        case Constant(value=str()):
            return Markup
        case Constant(value=bool() | int() | float()):
            return type(node.value)
        case Collection(kind=kind):
            return _CONTAINERS.get(kind)
        case Operation(operators=operators) if set(operators) == {"~"}:
            return Markup
        case Filter(name=name):
            return (
                Markup
                if name in _OF_TEXTS
                else list
                if name in _OF_LISTS
                else int
                if name in _OF_COUNTS
                else None
            )
        case Call(function=Attribute(target=target, name=name)) if name in _TEXT_METHODS | _SPLITTING:
            is_text = literal_type(file, target, start, depth) is Markup
            return None if not is_text else list if name in _SPLITTING else Markup
        case Name() if depth:
            return _type_of_name(file, node, start, depth - 1)
    return None


def _type_of_name(file: File, node: Name, start: int, depth: int) -> type | None:
    reference = _reference(file, node.name, node.span.shifted(start))
    if reference is None or reference.binding is None or not reference.certain:
        return None
    names = file.template.names
    if reference.binding.kind == "for" and not names.bound_names("set") & {node.name}:
        bindings = [each for each in names.bindings_of("for") if each.name == node.name]
        return _only(_type_of_element(file, each, depth) for each in bindings)
    if reference.binding.kind == "set" and not names.bound_names("for") & {node.name}:
        bindings = [each for each in names.bindings_of("set") if each.name == node.name]
        return _only(_type_of_value(file, each, depth) for each in bindings)
    return None


def _reference(file: File, name: str, span: Span) -> NameReference | None:
    return next((each for each in file.template.names.references_of(name) if each.span == span), None)


def _only(types: Iterable[type | None]) -> type | None:
    """Return the type if all are the same, or None."""
    found = set(types)
    return found.pop() if len(found) == 1 else None


def _type_of_value(file: File, binding: Binding, depth: int) -> type | None:
    """Return the type of the value that a `set` binds."""
    statement = statement_at(file.template, binding.span.start)
    if statement is None or len(statement.targets) != 1 or not isinstance(statement.targets[0], Name):
        return None
    if statement.opens_block:
        return None if statement.expressions else Markup
    start = binding.span.start - statement.targets[0].span.start
    return (
        literal_type(file, statement.expressions[0], start, depth)
        if len(statement.expressions) == 1
        else None
    )


def _type_of_element(file: File, binding: Binding, depth: int) -> type | None:
    """Return the type of the elements that a loop over a literal binds to its only variable."""
    statement = statement_at(file.template, binding.span.start)
    if statement is None or len(statement.targets) != 1 or not isinstance(statement.targets[0], Name):
        return None
    start = binding.span.start - statement.targets[0].span.start
    source = statement.expressions[0]
    if isinstance(source, Name) and source.name not in _changed(file.chunks):
        reference = _reference(file, source.name, source.span.shifted(start))
        bound = reference.binding if reference is not None and reference.certain else None
        setters = [each for each in file.template.names.bindings_of("set") if each.name == source.name]
        found = (
            statement_at(file.template, bound.span.start) if bound in setters and len(setters) == 1 else None
        )
        if bound is None or found is None or len(found.targets) != 1 or len(found.expressions) != 1:
            return None
        source, start = found.expressions[0], bound.span.start - found.targets[0].span.start
    if not isinstance(source, Collection) or source.kind == "dict":
        return None
    return _only(literal_type(file, item, start, depth) for item in source.items)


def _changed_in(chunk: Chunk) -> frozenset[str]:
    """Return the variables to which a tag of the chunk may add elements."""
    return frozenset(
        node.target.name
        for _, node in expressions_in(chunk)
        if isinstance(node, Attribute) and node.name in _CHANGING and isinstance(node.target, Name)
    )


_changed: Final = summary(_changed_in, union)
