"""The variables of one name, put together on the way through the scopes of a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from promptls.meaning.name_events import NameEvent, chunk_events
from promptls.meaning.outline import outline
from promptls.meaning.references import TemplateReference, template_references
from promptls.meaning.scopes import Binding, Resolver
from promptls.meaning.variable import Variable, VariableReading, chunk_reads
from promptls.syntax.chunk import Chunk, kept
from promptls.text.span import Span


def is_plain(chunk: Chunk, name: str, resolver: Resolver) -> bool:
    """Whether the name means one thing everywhere in the chunk, at whose beginning `resolver` is."""
    if name not in _plain_reads(chunk):
        return False
    is_free = all(name not in scope.bound for scope in resolver.scopes)
    return is_free or not any(isinstance(step, NameEvent) for step in outline(chunk))


@kept
def _plain_reads(chunk: Chunk) -> dict[str, tuple[tuple[Span, str], ...]]:
    """Where the chunk reads the names that it does not bind; none in chunks that need a closer look."""
    events = chunk_events(chunk)
    has_macro = any(event.action == "open" and event.name == "macro" for event in events)
    if has_macro or template_references(chunk):
        return {}
    bound = {event.name for event in events if event.action == "bind"}
    bound.update(name for event in events for name, _, _ in event.bound)
    return {name: places for name, places in chunk_reads(chunk).items() if name not in bound}


@kept
def chunk_steps(chunk: Chunk) -> tuple[NameEvent | TemplateReference, ...]:
    """The chunk's events, and between them the other templates that it names."""
    references = list(template_references(chunk))
    steps: list[NameEvent | TemplateReference] = []
    for event in chunk_events(chunk):
        while references and references[0].span.start <= event.span.start:
            steps.append(references.pop(0))
        steps.append(event)
    return (*steps, *references)


class _Group:
    """A variable while it is put together; `joined` is the one that it turned out to be."""

    __slots__ = ("bindings", "is_exported", "is_implied", "is_input", "joined", "readings", "seen_by")

    def __init__(self) -> None:
        self.joined: _Group | None = None
        self.bindings: list[Binding] = []
        self.readings: list[VariableReading] = []
        self.seen_by: list[TemplateReference] = []
        self.is_input = self.is_exported = self.is_implied = False

    def newest(self) -> _Group:
        group = self
        while group.joined is not None:
            group = group.joined
        return group

    def join(self, other: _Group) -> None:
        first, second = self.newest(), other.newest()
        if first is second:
            return
        second.joined = first
        first.bindings += second.bindings
        first.readings += second.readings
        first.seen_by += second.seen_by
        first.is_input |= second.is_input
        first.is_exported |= second.is_exported
        first.is_implied |= second.is_implied


class VariableGroups:
    """The variables of one name, put together on the way through a file: one a scope, and the input."""

    def __init__(self, name: str) -> None:
        self._name: Final = name
        self._input: Final = _Group()
        self._input.is_input = True
        self._by_scope: Final[dict[int, tuple[Any, _Group]]] = {}
        self._inherited: Final[list[TemplateReference]] = []

    def take(self, step: NameEvent | TemplateReference, start: int, resolver: Resolver) -> None:
        """Go over one step of the chunk that begins at offset `start`."""
        if isinstance(step, TemplateReference):
            placed = step._replace(span=step.span.shifted(start))
            if step.keyword == "extends":
                self._inherited.append(placed)  # the parent begins where this file ends
            else:
                self._seen(resolver).seen_by.append(placed)
        elif step.action == "read":
            if step.name == self._name:
                group = self._seen(resolver)
                binding = resolver.meaning(step.name)[0]
                group.readings.append(VariableReading(step.span.shifted(start), step.detail, binding))
        else:
            resolver.pass_event(step, start)
            self._bound(step, start, resolver)

    def take_readings(self, chunk: Chunk, start: int, resolver: Resolver) -> None:
        """Go over a chunk in which the name means one thing."""
        group = self._seen(resolver)
        binding = resolver.meaning(self._name)[0]
        for span, how in _plain_reads(chunk)[self._name]:
            group.readings.append(VariableReading(span.shifted(start), how, binding))

    def finish(self, resolver: Resolver) -> None:
        """Let parents see what is bound at the end of the file."""
        for reference in self._inherited:
            self._seen(resolver).seen_by.append(reference)

    def variables(self) -> Iterator[Variable]:
        """The variables that were found."""
        groups = {id(group.newest()): group.newest() for _, group in self._by_scope.values()}
        groups.setdefault(id(self._input.newest()), self._input.newest())
        for group in groups.values():
            if group.bindings or group.readings or group.seen_by or group.is_implied:
                yield Variable(
                    self._name,
                    tuple(sorted(group.bindings, key=lambda binding: binding.span)),
                    tuple(sorted(group.readings, key=lambda reading: reading.span)),
                    tuple(sorted(group.seen_by, key=lambda reference: reference.span)),
                    group.is_input,
                    group.is_exported,
                    group.is_implied,
                )

    def _of_scope(self, scope: Any) -> _Group:
        # The scope is kept beside its group, so that its identity is not given to another one.
        known = self._by_scope.setdefault(id(scope), (scope, _Group()))
        return known[1].newest()

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
        """The variable that the name means at the place that `resolver` has reached."""
        found = []
        certain = False
        for scope in reversed(resolver.scopes):
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
        return found[0].newest()
