"""Find which positions of a file refer to the same variable."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple

from promptls.semantic.names.mentions import TemplateReference, template_references
from promptls.semantic.names.scopes import Binding, NameEvent, Resolver, chunk_events
from promptls.semantic.template import Template
from promptls.syntax.chunk import Chunk, Piece, chunk_fact
from promptls.syntax.facts import summary, union
from promptls.text.positions import Span


class VariableReference(NamedTuple):
    """A position where a variable is read; `binding` is what it refers to, or None for an input."""

    span: Span
    binding: Binding | None


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of a file; spans count from the file's start.

    `is_input` is True if the caller may pass it, `is_exported` if files that import this one get it, and
    `is_implied` if Jinja defines it in a block, such as `loop`. `seen_by` are the includes
    and imports whose files see it under its name.
    """

    name: str
    bindings: tuple[Binding, ...]
    references: tuple[VariableReference, ...]
    seen_by: tuple[TemplateReference, ...]
    is_input: bool
    is_exported: bool
    is_implied: bool

    def holds(self, span: Span) -> bool:
        """Return whether the variable is bound or read at exactly this span."""
        return any(binding.span == span for binding in self.bindings) or any(
            reference.span == span for reference in self.references
        )


def _chunk_mentions(chunk: Chunk) -> frozenset[str]:
    names = {event.name for event in chunk_events(chunk) if event.action in {"read", "bind"}}
    return frozenset(names.union(name for event in chunk_events(chunk) for name, _, _ in event.bound))


mentions: Final = summary(_chunk_mentions, union)
"""Every name that a piece reads or binds."""

has_references: Final = summary(lambda chunk: bool(template_references(chunk)), any)
"""Whether a piece names another template."""


def _may_use(piece: Piece, name: str) -> bool:
    """Return whether a piece reads or binds the name, or names files that may see it."""
    return name in mentions(piece) or has_references(piece)


@chunk_fact
def _chunk_steps(chunk: Chunk) -> tuple[NameEvent | TemplateReference, ...]:
    """Return the chunk's events, and in between the other templates that it names."""
    references = list(template_references(chunk))
    steps: list[NameEvent | TemplateReference] = []
    for event in chunk_events(chunk):
        while references and references[0].span.start <= event.span.start:
            steps.append(references.pop(0))
        steps.append(event)
    return (*steps, *references)


class _Group:
    """A variable under construction; `joined` is the group that it was merged into."""

    __slots__ = ("bindings", "is_exported", "is_implied", "is_input", "joined", "references", "seen_by")

    def __init__(self) -> None:
        self.joined: _Group | None = None
        self.bindings: list[Binding] = []
        self.references: list[VariableReference] = []
        self.seen_by: list[TemplateReference] = []
        self.is_input = self.is_exported = self.is_implied = False

    def representative(self) -> _Group:
        group = self
        while group.joined is not None:
            group = group.joined
        return group

    def join(self, other: _Group) -> None:
        first, second = self.representative(), other.representative()
        if first is second:
            return
        second.joined = first
        first.bindings += second.bindings
        first.references += second.references
        first.seen_by += second.seen_by
        first.is_input |= second.is_input
        first.is_exported |= second.is_exported
        first.is_implied |= second.is_implied


class VariableGroups:
    """The variables of one name, collected in one pass over a file: one per scope, and the input."""

    def __init__(self, name: str) -> None:
        self._name: Final = name
        self._input: Final = _Group()
        self._input.is_input = True
        self._by_scope: Final[dict[int, tuple[Any, _Group]]] = {}
        self._inherited: Final[list[TemplateReference]] = []

    def take(self, step: NameEvent | TemplateReference, start: int, resolver: Resolver) -> None:
        """Process one step of the chunk that begins at offset `start`."""
        if isinstance(step, TemplateReference):
            placed = step._replace(span=step.span.shifted(start))
            if step.keyword == "extends":
                self._inherited.append(placed)  # the parent begins at the end of this file
            else:
                self._seen(resolver).seen_by.append(placed)
        elif step.action == "read":
            if step.name == self._name:
                group = self._seen(resolver)
                binding = resolver.meaning(step.name)[0]
                group.references.append(VariableReference(step.span.shifted(start), binding))
        else:
            resolver.pass_event(step, start)
            self._bound(step, start, resolver)

    def finish(self, resolver: Resolver) -> None:
        """Make the bindings at the end of the file visible to parent templates."""
        for reference in self._inherited:
            self._seen(resolver).seen_by.append(reference)

    def variables(self) -> Iterator[Variable]:
        """Yield the variables that were found."""
        groups = {id(group.representative()): group.representative() for _, group in self._by_scope.values()}
        groups.setdefault(id(self._input.representative()), self._input.representative())
        for group in groups.values():
            if group.bindings or group.references or group.seen_by or group.is_implied:
                yield Variable(
                    self._name,
                    tuple(sorted(group.bindings, key=lambda binding: binding.span)),
                    tuple(sorted(group.references, key=lambda reference: reference.span)),
                    tuple(sorted(group.seen_by, key=lambda reference: reference.span)),
                    group.is_input,
                    group.is_exported,
                    group.is_implied,
                )

    def _of_scope(self, scope: Any) -> _Group:
        # The scope is stored with its group, so that its id cannot be reused.
        known = self._by_scope.setdefault(id(scope), (scope, _Group()))
        return known[1].representative()

    def _bound(self, event: NameEvent, start: int, resolver: Resolver) -> None:
        bound: tuple[tuple[str, Span, str], ...] = event.bound
        if event.action == "bind":
            bound = ((event.name, event.span, event.detail),)
        for name, span, kind in bound:
            if name != self._name:
                continue
            group = self._of_scope(resolver.scopes[-1])
            if kind == "implied":
                group.is_implied = True
            else:
                group.bindings.append(Binding(name, span.shifted(start), kind))
                group.is_exported |= len(resolver.scopes) == 1

    def _seen(self, resolver: Resolver) -> _Group:
        """Return the variable that the name refers to at the resolver's position."""
        found = []
        certain = False
        for scope in resolver.visible_scopes():
            known = scope.bound.get(self._name)
            if known is not None:
                found.append(self._of_scope(scope))
                certain = known[1]
            if certain:
                break
        if not found and resolver.meaning(self._name)[0] is not None:  # a macro reads what is set later
            found.append(self._of_scope(resolver.scopes[0]))
        if not certain:
            found.append(self._input)
        for other in found[1:]:
            found[0].join(other)
        return found[0].representative()


class NamePlace(NamedTuple):
    """A variable's name in the text."""

    name: str
    span: Span


def name_at(template: Template, offset: int) -> NamePlace | None:
    """Return the variable's name that is read or bound at `offset`, or that ends there."""
    located = template.source.located(offset)
    found = None
    for place in chunk_names(located.chunk):
        if place.span.touches(offset - located.start):
            found = place
            if offset - located.start < place.span.end:
                break
    return found and NamePlace(found.name, found.span.shifted(located.start))


@chunk_fact
def chunk_names(chunk: Chunk) -> tuple[NamePlace, ...]:
    """Return the positions in the chunk where a variable is bound or read, in order.

    Spans count from its start.
    """
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
    """Return the variables of this name, in the order of their first positions.

    Includes one that is neither bound nor read in the file, but seen by other files.
    """
    groups = VariableGroups(name)
    resolver = None
    for located, resolver in template.names.scopes_where(lambda piece: _may_use(piece, name)):
        for step in _chunk_steps(located.chunk):
            groups.take(step, located.start, resolver)
    if resolver is not None:
        groups.finish(resolver)
    return tuple(sorted(groups.variables(), key=_first_place))


def _first_place(variable: Variable) -> Span:
    bound = [binding.span for binding in variable.bindings]
    spans = [*bound, *(reference.span for reference in variable.references)]
    return min(spans, default=Span(1 << 60, 1 << 60))


def variable_at(template: Template, place: NamePlace) -> Variable | None:
    """Return the variable at a position returned by `name_at`."""
    return next((each for each in variables_named(template, place.name) if each.holds(place.span)), None)


def input_variable(template: Template, name: str) -> Variable | None:
    """Return the variable of this name that the caller may pass."""
    return next((each for each in variables_named(template, name) if each.is_input), None)


def exported_variable(template: Template, name: str) -> Variable | None:
    """Return the variable of this name that importing files get."""
    return next((each for each in variables_named(template, name) if each.is_exported), None)
