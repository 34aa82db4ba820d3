"""Which places of a file are the same variable.

Two places are one variable when renaming one and not the other would change what a template
says: the bindings of a name in one scope, everything that reads them, and, where a name is
bound on some ways only, what the caller gives under that name. The scopes are those of
`promptls.meaning.scopes`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from promptls.meaning.name_events import NameEvent, chunk_events
from promptls.meaning.outline import pass_outline
from promptls.meaning.references import TemplateReference
from promptls.meaning.scopes import Binding
from promptls.meaning.simple_variables import bound_once, is_never_bound, never_bound, only_binding
from promptls.meaning.template import Template
from promptls.meaning.variable import Variable, VariableReading, is_wanted
from promptls.meaning.variable_groups import VariableGroups, chunk_steps, is_plain
from promptls.syntax.chunk import Chunk, kept
from promptls.syntax.group import chunks_from
from promptls.text.span import Span

__all__ = [
    "NamePlace",
    "Variable",
    "VariableReading",
    "chunk_names",
    "exported_variable",
    "input_variable",
    "name_at",
    "variable_around",
    "variable_at",
    "variables_named",
]

_OF_BLOCKS: Final = frozenset({"for", "with", "parameter"})
"""Ways of binding that bind for a block alone."""


class NamePlace(NamedTuple):
    """A variable's name in the text."""

    name: str
    span: Span


def name_at(template: Template, offset: int) -> NamePlace | None:
    """The variable's name that is read or bound at `offset`, or ends there."""
    located = template.source.located(offset)
    found = None
    for place in chunk_names(located.chunk):
        if place.span.contains(offset - located.start):
            found = place
            if offset - located.start < place.span.end:
                break
    return found and NamePlace(found.name, found.span.shifted(located.start))


@kept
def chunk_names(chunk: Chunk) -> tuple[NamePlace, ...]:
    """The places of the chunk where a variable is bound or read, in order; spans count from its start."""
    return tuple(sorted(_places(chunk), key=lambda place: place.span))


def _places(chunk: Chunk) -> Iterator[NamePlace]:
    for event in chunk_events(chunk):
        if event.action in {"read", "bind"}:
            yield NamePlace(event.name, event.span)
        for name, span, kind in event.bound:
            if kind != "implied":
                yield NamePlace(name, span)


@lru_cache(maxsize=16)
def variables_named(template: Template, name: str) -> tuple[Variable, ...]:
    """The variables of this name, in the order of their first places.

    One that nothing in the file binds or reads is there as well, for the files that see it.
    """
    if is_never_bound(template, name):
        return never_bound(template, name)
    only = only_binding(template, name)
    if only is not None:
        return bound_once(template, only)
    groups = VariableGroups(name)
    resolver = None
    for located, resolver in template.names.scopes_where(lambda piece: is_wanted(piece, name)):
        if is_plain(located.chunk, name, resolver):
            groups.take_readings(located.chunk, located.start, resolver)
            pass_outline(resolver, located.chunk, located.start)
            continue
        for step in chunk_steps(located.chunk):
            groups.take(step, located.start, resolver)
    if resolver is not None:
        groups.finish(resolver)
    return tuple(sorted(groups.variables(), key=_first_place))


def _first_place(variable: Variable) -> Span:
    bound = [binding.span for binding in variable.bindings]
    spans = [*bound, *(reading.span for reading in variable.readings)]
    return min(spans, default=Span(1 << 60, 1 << 60))


def variable_at(template: Template, place: NamePlace) -> Variable | None:
    """The variable of a place that `name_at` found."""
    return next((each for each in variables_named(template, place.name) if each.holds(place.span)), None)


def variable_around(template: Template, place: NamePlace) -> Variable | None:
    """The same as `variable_at`; the rest of the file is left alone where a block binds the name."""
    binding = _bound_around(template, place)
    if binding is None:
        return variable_at(template, place)
    groups = VariableGroups(place.name)
    resolver, located = template.names.scopes_at(binding.span.start)
    scope: object = None
    for each in chunks_from(template.source.root, located.index):
        for step in chunk_steps(each.chunk):
            groups.take(step, each.start, resolver)
            if scope is None and _binds(step, binding.span.shifted(-each.start)):
                scope = resolver.scopes[-1]
        if scope not in resolver.scopes:
            break
    found = (each for each in groups.variables() if each.holds(place.span))
    return next(found, None)


def _bound_around(template: Template, place: NamePlace) -> Binding | None:
    """The binding that the place is or certainly refers to, where it is of a block and not of the file."""
    for reading in template.names.readings_in(place.span.start):
        if reading.span == place.span:
            binding = reading.binding
            is_of_block = binding is not None and binding.kind in _OF_BLOCKS
            return binding if reading.certain and is_of_block else None
    located = template.source.located(place.span.start)
    for event in chunk_events(located.chunk):
        for name, span, kind in event.bound:
            if kind in _OF_BLOCKS and span.shifted(located.start) == place.span:
                return Binding(name, place.span, kind)
    return None


def _binds(step: NameEvent | TemplateReference, span: Span) -> bool:
    return isinstance(step, NameEvent) and any(bound == span for _, bound, _ in step.bound)


def input_variable(template: Template, name: str) -> Variable | None:
    """The variable of this name that the caller may give."""
    return next((each for each in variables_named(template, name) if each.is_input), None)


def exported_variable(template: Template, name: str) -> Variable | None:
    """The variable of this name that files which import this one get."""
    return next((each for each in variables_named(template, name) if each.is_exported), None)
