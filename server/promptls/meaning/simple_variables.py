"""The simple cases of a name in a file: never bound, or bound once ahead of everything.

They are those of most names, and need no scopes.
"""

from __future__ import annotations

from promptls.meaning.name_events import chunk_events
from promptls.meaning.references import TemplateReference, template_references
from promptls.meaning.scopes import Binding
from promptls.meaning.template import Template
from promptls.meaning.variable import (
    IMPLIED,
    WAYS,
    Variable,
    VariableReading,
    chunk_reads,
    is_wanted,
    mentions,
)
from promptls.syntax.group import chunks_where

_OF_FILES = frozenset({"set", "macro", "import"})
"""Ways of binding that may bind for the whole file."""


def is_never_bound(template: Template, name: str) -> bool:
    """Whether the name is an input wherever it stands."""
    return name not in IMPLIED and not any(name in template.names.bound_names(way) for way in WAYS)


def never_bound(template: Template, name: str) -> tuple[Variable, ...]:
    """The input of a name that the file never binds; none where nothing reads or sees it."""
    readings: list[VariableReading] = []
    seen_by: list[TemplateReference] = []
    for located in chunks_where(template.source.root, lambda piece: is_wanted(piece, name)):
        for span, how in chunk_reads(located.chunk).get(name, ()):
            readings.append(VariableReading(span.shifted(located.start), how, None))
        seen_by += [
            reference._replace(span=reference.span.shifted(located.start))
            for reference in template_references(located.chunk)
        ]
    if not readings and not seen_by:
        return ()
    return (
        Variable(
            name, (), tuple(readings), tuple(seen_by), is_input=True, is_exported=False, is_implied=False
        ),
    )


def only_binding(template: Template, name: str) -> Binding | None:
    """The one binding of a name, outside every block and ahead of everything that reads the name."""
    ways = [way for way in WAYS if name in template.names.bound_names(way)]
    if name in IMPLIED or len(ways) != 1 or ways[0] not in _OF_FILES:
        return None
    found = [binding for binding in template.names.bindings_of(ways[0]) if binding.name == name]
    if len(found) != 1 or not _is_outside_blocks(template, found[0]):
        return None
    # `{% set x = x | trim %}` reads ahead of binding, though it stands behind.
    for located in chunks_where(template.source.root, lambda piece: name in mentions(piece)):
        for event in chunk_events(located.chunk):
            if event.name == name and event.action in {"read", "bind"}:
                return found[0] if event.action == "bind" else None
    return None


def _is_outside_blocks(template: Template, binding: Binding) -> bool:
    resolver, located = template.names.scopes_at(binding.span.start)
    for event in chunk_events(located.chunk):
        if event.action == "bind" and event.span.shifted(located.start) == binding.span:
            return not resolver.blocks
        if event.action != "read":
            resolver.pass_event(event, located.start)
    return False


def bound_once(template: Template, binding: Binding) -> tuple[Variable, ...]:
    """The variable of a name's only binding, and the input of that name that the files ahead of it see."""
    readings: list[VariableReading] = []
    behind: list[TemplateReference] = []
    ahead: list[TemplateReference] = []
    for located in chunks_where(template.source.root, lambda piece: is_wanted(piece, binding.name)):
        for span, how in chunk_reads(located.chunk).get(binding.name, ()):
            readings.append(VariableReading(span.shifted(located.start), how, binding))
        for reference in template_references(located.chunk):
            placed = reference._replace(span=reference.span.shifted(located.start))
            sees = placed.keyword == "extends" or placed.span.start > binding.span.start
            (behind if sees else ahead).append(placed)
    name = binding.name
    found = Variable(
        name, (binding,), tuple(readings), tuple(behind), is_input=False, is_exported=True, is_implied=False
    )
    taken = Variable(name, (), (), tuple(ahead), is_input=True, is_exported=False, is_implied=False)
    return (found, taken) if ahead else (found,)
