"""Macros: where a name that is called leads to, parameters, and the keyword arguments that stand for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from promptls.features.symbols.shared_variable import imported_file
from promptls.meaning.mentions import Mention, chunk_mentions, mentions_of
from promptls.meaning.name_events import chunk_events
from promptls.meaning.scopes import Binding
from promptls.meaning.statement_places import placed_statement_at
from promptls.meaning.template import Template
from promptls.meaning.variables import (
    NamePlace,
    Variable,
    exported_variable,
    variable_at,
)
from promptls.text.span import Span
from promptls.workspace.snapshot import Snapshot


class Macro(NamedTuple):
    """A macro of the file at `path`, by the place of its name in its own tag."""

    path: str
    name: str
    span: Span


def macro_meant(snapshot: Snapshot, path: str, place: NamePlace | Mention) -> Macro | None:
    """The macro that a name, or an attribute of an imported file, means where it stands."""
    seen: set[tuple[str, NamePlace | Mention]] = set()
    while (path, place) not in seen:
        seen.add((path, place))
        template = snapshot.template(path)
        if template is None:
            return None
        if isinstance(place, NamePlace):
            binding = _binding(template, place)
            if binding is None:
                return None
            if binding.kind == "macro":
                return Macro(path, binding.name, binding.span)
            mention = _imported(template, binding.span) if binding.kind == "import" else None
            if mention is None:
                return None
            place = mention
            continue
        target = imported_file(snapshot, path, template, place)
        other = snapshot.template(target) if target else None
        exported = exported_variable(other, place.name) if other is not None else None
        if target is None or exported is None:
            return None
        path, place = target, NamePlace(place.name, exported.bindings[-1].span)
    return None


def _binding(template: Template, place: NamePlace) -> Binding | None:
    """What a name refers to where it is read, or the binding itself where it is bound."""
    variable = variable_at(template, place)
    for reading in variable.readings if variable is not None else ():
        if reading.span == place.span:
            return reading.binding
    bindings = variable.bindings if variable is not None else ()
    return next((binding for binding in bindings if binding.span == place.span), None)


def _imported(template: Template, alias: Span) -> Mention | None:
    """The imported name that the binding at `alias` is, or is another name of."""
    located = template.source.located(alias.start)
    inside = alias.shifted(-located.start)
    found = [each for each in chunk_mentions(located.chunk) if each.span.start <= inside.start]
    last = found[-1] if found else None
    return last.shifted(located.start) if last is not None and last.kind == "imported" else None


def parameters_of(snapshot: Snapshot, macro: Macro) -> dict[str, Span]:
    """The parameters of a macro, each with its place."""
    template = snapshot.template(macro.path)
    found = placed_statement_at(template, macro.span.start) if template is not None else None
    if found is None:
        return {}
    statement, begin = found
    return {item.name: item.span.shifted(begin) for item in statement.parameters}


def macro_of(template: Template, path: str, parameter: Variable) -> Macro | None:
    """The macro that the variable is a parameter of."""
    found = placed_statement_at(template, parameter.bindings[0].span.start)
    if found is None or found[0].keyword != "macro" or not found[0].name:
        return None
    statement, begin = found
    return Macro(path, statement.name, statement.name_span.shifted(begin))


def arguments_of(template: Template, name: str, is_call: Callable[[Span], bool]) -> Iterator[Span]:
    """The keyword arguments of this name in the calls of what stands at certain places."""
    for mention in mentions_of(template.source, name):
        if mention.kind == "argument" and is_call(mention.owner):
            yield mention.span


def other_names(template: Template, imported: Span) -> Iterator[Span]:
    """The readings of the other name under which a file imports what is named at `imported`."""
    located = template.source.located(imported.start)
    inside = imported.shifted(-located.start)
    if not any(each.kind == "imported" and each.span == inside for each in chunk_mentions(located.chunk)):
        return
    for event in chunk_events(located.chunk):
        if event.action == "bind" and event.span.start >= inside.start:
            alias = variable_at(template, NamePlace(event.name, event.span.shifted(located.start)))
            if alias is not None and event.span != inside:
                yield from (reading.span for reading in alias.readings)
            return
