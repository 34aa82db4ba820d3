"""Which places of a file are the same variable.

Two places are one variable when renaming one and not the other would change what a template
says: the bindings of a name in one scope, everything that reads them, and, where a name is
bound on some ways only, what the caller gives under that name. The scopes are those of
`promptls.meaning.scopes`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple

from promptls.meaning.outline import outline, pass_outline
from promptls.meaning.references import TemplateReference, template_references
from promptls.meaning.scopes import Binding, NameEvent, Resolver, chunk_events
from promptls.meaning.template import Template
from promptls.syntax.chunk import Chunk, kept
from promptls.syntax.group import Piece, chunks_from, chunks_where, union, united
from promptls.text.span import Span

WAYS: Final = ("set", "for", "macro", "import", "with", "parameter")
"""The ways in which a file binds names."""
IMPLIED: Final = frozenset({"loop", "caller", "varargs", "kwargs", "super"})
"""Names that Jinja binds in a block."""
_OF_BLOCKS: Final = frozenset({"for", "with", "parameter"})
"""Ways of binding that bind for a block alone."""


class VariableReading(NamedTuple):
    """A place where a variable is read; `binding` is what it refers to, or None for an input."""

    span: Span
    how: str
    binding: Binding | None


@dataclass(frozen=True, slots=True)
class Variable:
    """One variable of a file; spans count from the file's start.

    `is_input` says that the caller may give it, `is_exported` that files which import this one
    get it, `is_implied` that Jinja makes it in a block, as `loop`. `seen_by` are the includes
    and imports whose files see it under its name.
    """

    name: str
    bindings: tuple[Binding, ...]
    readings: tuple[VariableReading, ...]
    seen_by: tuple[TemplateReference, ...]
    is_input: bool
    is_exported: bool
    is_implied: bool

    def holds(self, span: Span) -> bool:
        """Whether the variable is bound or read at exactly this place."""
        return any(binding.span == span for binding in self.bindings) or any(
            reading.span == span for reading in self.readings
        )


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


def _chunk_mentions(chunk: Chunk) -> frozenset[str]:
    names = {event.name for event in chunk_events(chunk) if event.action in {"read", "bind"}}
    return frozenset(names.union(name for event in chunk_events(chunk) for name, _, _ in event.bound))


_mentions: Final = united(_chunk_mentions, union)
"""Every name that a piece reads or binds."""

_has_references: Final = united(lambda chunk: bool(template_references(chunk)), any)
"""Whether a piece names another template."""


@lru_cache(maxsize=16)
def variables_named(template: Template, name: str) -> tuple[Variable, ...]:
    """The variables of this name, in the order of their first places.

    One that nothing in the file binds or reads is there as well, for the files that see it.
    """
    groups = _Groups(name)
    if _is_never_bound(template, name):
        for located in chunks_where(template.source.root, lambda piece: _is_wanted(piece, name)):
            groups.take_unbound(located.chunk, located.start)
        return tuple(groups.variables())
    resolver = None
    wanted = template.names.scopes_where(lambda piece: _is_wanted(piece, name))
    for located, resolver in wanted:
        if _is_plain(located.chunk, name, resolver):
            groups.take_readings(located.chunk, located.start, resolver)
            pass_outline(resolver, located.chunk, located.start)
            continue
        for step in _steps(located.chunk):
            groups.take(step, located.start, resolver)
    if resolver is not None:
        groups.finish(resolver)
    return tuple(sorted(groups.variables(), key=_first_place))


def variable_at(template: Template, place: NamePlace) -> Variable | None:
    """The variable of a place that `name_at` found."""
    return next((each for each in variables_named(template, place.name) if each.holds(place.span)), None)


def variable_around(template: Template, place: NamePlace) -> Variable | None:
    """The same as `variable_at`; the rest of the file is left alone where a block binds the name."""
    binding = _bound_around(template, place)
    if binding is None:
        return variable_at(template, place)
    groups = _Groups(place.name)
    resolver, located = template.names.scopes_at(binding.span.start)
    scope: object = None
    for each in chunks_from(template.source.root, located.index):
        for step in _steps(each.chunk):
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


def _is_never_bound(template: Template, name: str) -> bool:
    """Whether the name is an input wherever it stands."""
    return name not in IMPLIED and not any(name in template.names.bound_names(way) for way in WAYS)


def _is_plain(chunk: Chunk, name: str, resolver: Resolver) -> bool:
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
    return {name: places for name, places in _reads(chunk).items() if name not in bound}


@kept
def _reads(chunk: Chunk) -> dict[str, tuple[tuple[Span, str], ...]]:
    """Where the chunk reads each name, and how."""
    found: dict[str, list[tuple[Span, str]]] = {}
    for event in chunk_events(chunk):
        if event.action == "read":
            found.setdefault(event.name, []).append((event.span, event.detail))
    return {name: tuple(places) for name, places in found.items()}


def _is_wanted(piece: Piece, name: str) -> bool:
    return name in _mentions(piece) or _has_references(piece)


def _first_place(variable: Variable) -> Span:
    bound = [binding.span for binding in variable.bindings]
    spans = [*bound, *(reading.span for reading in variable.readings)]
    return min(spans, default=Span(1 << 60, 1 << 60))


@kept
def _steps(chunk: Chunk) -> tuple[NameEvent | TemplateReference, ...]:
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


class _Groups:
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

    def take_unbound(self, chunk: Chunk, start: int) -> None:
        """Go over a chunk of a file that never binds the name."""
        for span, how in _reads(chunk).get(self._name, ()):
            self._input.readings.append(VariableReading(span.shifted(start), how, None))
        for reference in template_references(chunk):
            self._input.seen_by.append(reference._replace(span=reference.span.shifted(start)))

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
