"""Comparisons of an input with what its declaration says that it never is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from promptls.meaning.header import InputKey
from promptls.meaning.paths import Path, Step
from promptls.meaning.shape import UNKNOWN
from promptls.meaning.use import Compared, Use
from promptls.meaning.uses import unplaced_events
from promptls.rules.facts.declared_types import below, declared_as, declared_types, is_of_type, words_of
from promptls.rules.fixes.misspelt import misspelt
from promptls.rules.rule import Edit, FileContext, Finding, Fix
from promptls.syntax.chunk import Chunk
from promptls.syntax.group import united
from promptls.text.span import NOWHERE, Span

_MOST_VALUES: Final = 5
"""How many values of an `enum` a message names."""
_MOST_SCHEMAS: Final = 500
_WORDS: Final = {str: "text", bool: "a truth value", int: "a number", float: "a number"}


def never_equal(schema: Any, use: Use) -> Iterator[Finding]:
    """The constants that a value is compared with and never equal to; of an empty one nothing is said.

    `schema` is that of the variable at which the use's path begins.
    """
    found = _schema_at(schema, use.path)
    if found is None:
        return
    for compared in use.compared:
        value = compared.value
        if value is None or value == "":
            continue
        values = found.get("enum")
        if "default" in found and found["default"] == value:
            continue
        types = declared_types(found)
        if isinstance(values, list) and values and value not in values:
            yield _not_listed(use.path, compared, values)
        elif types is not None and not isinstance(values, list) and not _may_equal(value, types):
            message = f"{declared_as(use.path, types)}, which is never equal to {_WORDS[type(value)]}"
            yield Finding(compared.span, message, tuple(_unquoted(compared, types)))


def _schema_at(schema: Any, path: Path) -> Mapping[str, Any] | None:
    """The schema of what a path leads to; None where it is not declared, or something else may be there."""
    if any(step.optional for step in path):
        return None
    for step in path[1:]:
        types = declared_types(schema)
        schema = below(schema, types, step.key) if types is not None else None
    return schema if isinstance(schema, Mapping) else None


def _may_equal(value: object, types: frozenset[str]) -> bool:
    if isinstance(value, (bool, int, float)):
        return bool(types & {"boolean", "integer", "number"})
    return is_of_type(value, types)


def _not_listed(path: Path, compared: Compared, values: list[Any]) -> Finding:
    name = words_of(path)
    listed = ", ".join(f"`{value}`" for value in values[:_MOST_VALUES])
    more = f" and {len(values) - _MOST_VALUES} more" if len(values) > _MOST_VALUES else ""
    message = f"`{name}` is never `{compared.value}`: its `enum` has {listed}{more}"
    if not isinstance(compared.value, str):
        return Finding(compared.span, message)
    inside = Span(compared.span.start + 1, compared.span.end - 1)
    texts = [value for value in values if isinstance(value, str)]
    found = misspelt(inside, message, compared.value, texts)
    return Finding(compared.span, found.message, found.fixes)


def _unquoted(compared: Compared, types: frozenset[str]) -> Iterator[Fix]:
    """The number that a text spells, without its quotes."""
    if isinstance(compared.value, str) and types & {"integer", "number"}:
        try:
            float(compared.value)
        except ValueError:
            return
        yield Fix("Remove the quotes", (Edit(compared.span, compared.value.strip()),), preferred=True)


def may_differ(context: FileContext, typed: Mapping[str, InputKey]) -> bool:
    """Whether a comparison in the file could be at odds with what is declared; said without going over it."""
    bound: frozenset[str] | None = None
    below: list[tuple[str, Any]] | None = None
    for path, value in _compared(context.template.source.root):
        name = str(path[0].key)
        bound = context.template.names.all_bound_names if bound is None else bound
        if name not in bound:
            schema = _schema_at(typed[name].schema, path) if name in typed else None
            if schema is not None and _is_refused(schema, value):
                return True
            continue
        # The name stands for something else: whatever is declared under the path's last key may be meant.
        below = _all_below(typed) if below is None else below
        last = path[-1].key if len(path) > 1 else None
        if any(
            _is_refused(schema, value) for key, schema in below if not isinstance(last, str) or key == last
        ):
            return True
    return False


def _is_refused(schema: Any, value: object) -> bool:
    use = Use((Step(""),), UNKNOWN, NOWHERE, compared=(Compared(value, NOWHERE),))
    return any(True for _ in never_equal(schema, use))


def _all_below(typed: Mapping[str, InputKey]) -> list[tuple[str, Any]]:
    """Every schema in those of the inputs, each with the name of its property; of an element it is empty."""
    found: list[tuple[str, Any]] = []
    stack: list[tuple[str, Any]] = [(name, key.schema) for name, key in typed.items()]
    while stack and len(found) < _MOST_SCHEMAS:
        name, schema = stack.pop()
        if not isinstance(schema, Mapping):
            continue
        found.append((name, schema))
        properties = schema.get("properties")
        if isinstance(properties, Mapping):
            stack += [(str(key), its) for key, its in properties.items()]
        stack += [("", schema[key]) for key in ("items", "additionalProperties") if key in schema]
    return found


_Comparisons: TypeAlias = frozenset[tuple[Path, object]]


def _values(chunk: Chunk) -> _Comparisons:
    return frozenset(
        (event.path, constant.value)
        for event in unplaced_events(chunk)
        if isinstance(event, Use)
        for constant in event.compared
    )


def _all_values(pieces: list[_Comparisons]) -> _Comparisons:
    return frozenset[tuple[Path, object]]().union(*pieces)


_compared: Final = united(_values, _all_values, of_tags=True)
