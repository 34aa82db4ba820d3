"""All names of a file: what it binds, what it reads, and what it needs from its caller."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from promptls.semantic.names import scopes
from promptls.syntax.chunk import Chunk, ChunkList, Located, Piece, chunk_fact
from promptls.syntax.facts import file_fact, placed_fact, summary, union
from promptls.syntax.jinja.blocks import BlockTag, match_tags
from promptls.syntax.jinja.tag_tokens import FOREIGN_CONSTANTS
from promptls.text.positions import NOWHERE, Span


class Zone(NamedTuple):
    """A range without loose block tags.

    `reads` are the names read in it that are not certainly bound before in it. `binds` are the
    names that it binds for the following text, each with its last binding. Offsets count from the
    start of the chunk.
    """

    reads: frozenset[str]
    binds: tuple[scopes.ScopedBinding, ...]


Outline = tuple[Zone | scopes.NameEvent, ...]
PlacedStep = tuple[int, Zone | scopes.NameEvent]
"""A step, and the offset from which its positions count."""


@chunk_fact
def outline(chunk: Chunk) -> Outline:
    """Return the outline of a chunk."""
    return _reduce([(0, step) for step in _chunk_steps(chunk)])


def pass_outline(resolver: scopes.Resolver, chunk: Chunk, start: int) -> None:
    """Advance `resolver` over a chunk that begins at offset `start`."""
    for step in outline(chunk):
        _pass_step(resolver, step, start)


def _pass_step(resolver: scopes.Resolver, step: Zone | scopes.NameEvent, start: int) -> None:
    if isinstance(step, scopes.NameEvent):
        resolver.pass_event(step, start)
        return
    for binding, certain, offset in step.binds:
        resolver.bind((binding, certain, offset + start))


def _free_names(resolver: scopes.Resolver, steps: Iterable[PlacedStep]) -> set[str]:
    """Advance `resolver` over some steps; return the names they read that may come from the context."""
    free: set[str] = set()
    for start, step in steps:
        if isinstance(step, Zone):
            free.update([name for name in step.reads if not resolver.is_bound(name)])
        _pass_step(resolver, step, start)
    return free


def _bare_of_chunk(chunk: Chunk) -> Outline:
    return tuple([_bare(step) for step in outline(chunk)])


def _bare(step: Zone | scopes.NameEvent) -> Zone | scopes.NameEvent:
    if isinstance(step, scopes.NameEvent):
        return step._replace(span=NOWHERE, bound=tuple((name, NOWHERE, kind) for name, _, kind in step.bound))
    binds = tuple([(binding._replace(span=NOWHERE), certain, 0) for binding, certain, _ in step.binds])
    return Zone(step.reads, binds)


def _bare_of_group(children: list[Outline]) -> Outline:
    return _reduce([(0, step) for each in children for step in each])


bare_outline: Final = summary(_bare_of_chunk, _bare_of_group)
"""The outline of a piece without positions, which is unchanged if an edit only moves tags."""


def _chunk_steps(chunk: Chunk) -> Iterator[Zone | scopes.NameEvent]:
    for event in scopes.chunk_events(chunk):
        if event.action == "read":
            yield Zone(frozenset((event.name,)), ())
        elif event.action == "bind":
            yield Zone(frozenset(), ((scopes.Binding(event.name, event.span, event.detail), True, 0),))
        else:
            yield event


def _shift(event: scopes.NameEvent, by: int) -> scopes.NameEvent:
    bound = tuple((name, span.shifted(by), kind) for name, span, kind in event.bound)
    return event._replace(span=event.span.shifted(by), bound=bound)


def _reduce(steps: list[PlacedStep]) -> Outline:
    """Return the steps with each block that begins and ends among them merged into the surrounding zone."""
    loose = _loose(step for _, step in steps)
    reduced: list[Zone | scopes.NameEvent] = []
    resolver, reads = scopes.Resolver(), set[str]()

    def end_zone() -> None:
        bound = resolver.scopes[0].bound
        if reads or bound:
            reduced.append(Zone(frozenset(reads), tuple(bound.values())))

    for index, (start, step) in enumerate(steps):
        if index in loose and isinstance(step, scopes.NameEvent):
            end_zone()
            reduced.append(_shift(step, start))
            resolver, reads = scopes.Resolver(), set()
        else:
            reads |= _free_names(resolver, ((start, step),))
    end_zone()
    return tuple(reduced)


def _loose(steps: Iterable[Zone | scopes.NameEvent]) -> set[int]:
    """Return the indexes of the block tags that cannot be merged.

    The partners of such tags are not among the steps, or the block is isolated from what is around it, or
    contains a block that is.
    """
    events = [(index, step) for index, step in enumerate(steps) if isinstance(step, scopes.NameEvent)]
    isolated = [index for index, event in events if event.detail == scopes.ISOLATED]
    blocks = match_tags(BlockTag(event.action, event.name, NOWHERE, index) for index, event in events)
    loose = {tag.place for tag in blocks.loose}
    for pair in blocks.pairs:
        inside = bisect_left(isolated, pair.opening)
        if inside < len(isolated) and isolated[inside] < pair.closing:
            loose.update((pair.opening, *pair.middles, pair.closing))
    return loose


class FileNames:
    """The references and bindings of a file; spans count from its start."""

    def __init__(self, root: ChunkList) -> None:
        self._root: Final = root
        self.facts: Final[dict[object, object]] = {}

    @property
    def serial(self) -> int:
        """The serial number of the file's version."""
        return self._root.serial

    @property
    @placed_fact
    def bound_at_end(self) -> scopes.Bound:
        """The bindings at the end of the file, outside of all blocks."""
        resolver = scopes.Resolver()
        for located in self._root.placed():
            pass_outline(resolver, located.chunk, located.start)
        return resolver.scopes[0].bound

    @property
    def input_names(self) -> frozenset[str]:
        """The variables that may come from the caller, without those of Jinja and Prompt Poet.

        Constants of other languages, such as `null`, are not included.
        """
        return _input_names(self._root)

    @property
    def read_names(self) -> frozenset[str]:
        """Every name that is read, bound or not."""
        return _read_names(self._root)

    @property
    def called_names(self) -> frozenset[str]:
        """Every name that is called, bound or not."""
        return _called_names(self._root)

    def bound_names(self, kind: str) -> frozenset[str]:
        """Return the names that are bound in a certain way anywhere in the file, as in `bindings_of`."""
        return _bound_names(self._root).get(kind, frozenset())

    def bound_otherwise(self, *kinds: str) -> frozenset[str]:
        """Return the names that are bound anywhere in the file in other ways than these."""
        return union([names for kind, names in _bound_names(self._root).items() if kind not in kinds])

    @property
    def all_bound_names(self) -> frozenset[str]:
        """The names that are bound anywhere, in any way."""
        return self.bound_otherwise()

    def references_of(self, name: str) -> Iterator[scopes.NameReference]:
        """Yield the references of a variable, in order."""
        if name in self.read_names:
            yield from self.references_by_name[name]

    def free_references_of(self, name: str) -> list[scopes.NameReference]:
        """Return the references of a variable that nothing in the file binds."""
        return [each for each in self.references_of(name) if each.binding is None]

    def searched_references(self, name: str) -> Iterator[scopes.NameReference]:
        """Yield the same for callers that stop early: chunks are resolved one after the other."""
        for located, resolver in self.scopes_where(lambda piece: name in _read_names(piece)):
            for reference in resolver.references(located.chunk, located.start):
                if reference.name == name:
                    yield reference

    def chunks_referencing(self, name: str) -> Iterator[Located]:
        """Return the chunks in which a variable is read, in order."""
        return self._root.where(lambda piece: name in _read_names(piece))

    def bindings_of(self, kind: str) -> Iterator[scopes.Binding]:
        """Yield the names bound in a certain way: `set`, `for`, `macro`, `import`, `with` or `parameter`."""
        for located in self._root.where(lambda piece: kind in _bound_names(piece)):
            for binding in chunk_bindings(located.chunk):
                if binding.kind == kind:
                    yield binding._replace(span=binding.span.shifted(located.start))

    def references_in(self, offset: int) -> tuple[scopes.NameReference, ...]:
        """Return the references in the chunk that contains `offset`."""
        resolver, located = self.scopes_at(offset)
        return tuple(resolver.references(located.chunk, located.start))

    def reference_at(self, span: Span) -> scopes.NameReference | None:
        """Return the reference at exactly this span, or None."""
        return self._references_by_span.get(span)

    @property
    @placed_fact
    def _references_by_span(self) -> dict[Span, scopes.NameReference]:
        return {reference.span: reference for reference in reversed(self.references)}

    def _resolver(self) -> scopes.Resolver:
        """Return the scopes at the beginning of the file; only macros refer to later bindings."""
        return scopes.Resolver(self.bound_at_end if _has_macros(self._root) else None)

    def scopes_at(self, offset: int) -> tuple[scopes.Resolver, Located]:
        """Return the scopes at the beginning of the chunk that contains `offset`, and the chunk."""
        resolver = self._resolver()
        located = self._root.at_offset(offset)
        for start, chunk in zip(self._root.starts, self._root.chunks[: located.index], strict=False):
            pass_outline(resolver, chunk, start)
        return resolver, located

    def scopes_before(self, offset: int) -> scopes.Resolver:
        """Return the scopes at `offset`, after all that begins before it."""
        resolver, located = self.scopes_at(offset)
        for event in scopes.chunk_events(located.chunk):
            if located.start + event.span.start >= offset:
                break
            if event.action != "read":
                resolver.pass_event(event, located.start)
        return resolver

    def scopes_where(self, holds: Callable[[Piece], object]) -> Iterator[tuple[Located, scopes.Resolver]]:
        """Yield the chunks for which `holds` is true, in order, each with the scopes at its beginning.

        Groups for which `holds` is false are skipped. The caller must advance the resolver over each chunk,
        with `references`, before requesting the next one.
        """
        if not holds(self._root):
            return
        resolver = self._resolver()
        for located in self._root.placed():
            if holds(located.chunk):
                yield located, resolver
            else:
                pass_outline(resolver, located.chunk, located.start)

    @property
    @placed_fact
    def references(self) -> tuple[scopes.NameReference, ...]:
        """All references of variables, in order."""
        return tuple(
            reference
            for located, resolver in self.scopes_where(lambda _piece: True)
            for reference in resolver.references(located.chunk, located.start)
        )

    @property
    @placed_fact
    def references_by_name(self) -> Mapping[str, Sequence[scopes.NameReference]]:
        """All references of each variable, in order, for callers that need those of many variables."""
        found: dict[str, list[scopes.NameReference]] = {}
        for reference in self.references:
            found.setdefault(reference.name, []).append(reference)
        return found

    @property
    @placed_fact
    def bindings(self) -> tuple[scopes.Binding, ...]:
        """Every name that the file binds, in order."""
        return tuple(
            binding._replace(span=binding.span.shifted(located.start))
            for located in self._root.where(_bound_names)
            for binding in chunk_bindings(located.chunk)
        )


@chunk_fact
def chunk_bindings(chunk: Chunk) -> tuple[scopes.Binding, ...]:
    """Return the names that the chunk binds, in order; spans count from its start."""
    found: list[scopes.Binding] = []
    for event in scopes.chunk_events(chunk):
        if event.action == "bind":
            found.append(scopes.Binding(event.name, event.span, event.detail))
        elif event.action == "open":
            found += [
                scopes.Binding(name, span, kind) for name, span, kind in event.bound if kind != "implied"
            ]
    return tuple(found)


def _chunk_read_names(chunk: Chunk) -> frozenset[str]:
    return frozenset(event.name for event in scopes.chunk_events(chunk) if event.action == "read")


_read_names: Final = summary(_chunk_read_names, union)
_has_macros: Final = summary(
    lambda chunk: any(event.name == "macro" for event in scopes.chunk_events(chunk)), any
)


_called_names: Final = summary(
    lambda chunk: frozenset(
        event.name
        for event in scopes.chunk_events(chunk)
        if event.action == "read" and event.detail == "call"
    ),
    union,
)


def _chunk_bound_names(chunk: Chunk) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for binding in chunk_bindings(chunk):
        found.setdefault(binding.kind, set()).add(binding.name)
    return {kind: frozenset(names) for kind, names in found.items()}


def _merge(each: list[dict[str, frozenset[str]]]) -> dict[str, frozenset[str]]:
    kinds = {kind for names in each for kind in names}
    return {kind: union([names[kind] for names in each if kind in names]) for kind in kinds}


_bound_names: Final = summary(_chunk_bound_names, _merge)
"""The names that a piece binds, by the way in which they are bound."""


def _free(steps: Outline) -> frozenset[str]:
    return frozenset(
        _free_names(scopes.Resolver(), ((0, step) for step in steps))
        - scopes.GLOBALS
        - scopes.INJECTED
        - FOREIGN_CONSTANTS.keys()
    )


_input_names: Final = file_fact(lambda chunks: _free(bare_outline(chunks)))
"""The names that may come from the context of a piece."""
