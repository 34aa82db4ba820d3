"""All names of a file: what it binds, what it reads, and what it takes from its caller.

Which names there are is put together from what each piece of the file keeps; where they
stand is worked out when asked for, in those chunks alone that hold the name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Final

from promptls.meaning.name_events import chunk_events
from promptls.meaning.outline import Outline, bare_outline, free_names, pass_outline
from promptls.meaning.scopes import GLOBALS, INJECTED, Binding, Bound, Reading, Resolver
from promptls.syntax.chunk import Chunk, kept
from promptls.syntax.group import Group, Located, Piece, chunk_of_offset, chunks_where, derived, union, united
from promptls.syntax.jinja.foreign_signs import FOREIGN_CONSTANTS
from promptls.syntax.source import Source


class FileNames:
    """The readings and bindings of a file; spans count from its start."""

    def __init__(self, root: Group) -> None:
        self._root: Final = root

    @cached_property
    def _late(self) -> Bound:
        """What is bound at the end of the file."""
        resolver = Resolver()
        pass_outline(resolver, self._root, 0)
        return resolver.scopes[0].bound

    @property
    def input_names(self) -> frozenset[str]:
        """The variables that may come from the caller, without those of Jinja and Prompt Poet.

        A constant of another language, such as `null`, is none.
        """
        return _input_names(self._root)

    @property
    def bound_at_end(self) -> Bound:
        """What is bound at the end of the file, outside every block."""
        return self._late

    @property
    def read_names(self) -> frozenset[str]:
        """Every name that is read, whoever binds it."""
        return _read_names(self._root)

    @property
    def called_names(self) -> frozenset[str]:
        """Every name that is called, whoever binds it."""
        return _called_names(self._root)

    def bound_names(self, kind: str) -> frozenset[str]:
        """The names that are bound in one way, anywhere; the ways are those of `bindings_of`."""
        return _bound_names(self._root).get(kind, frozenset())

    @property
    def all_bound_names(self) -> frozenset[str]:
        """The names that are bound anywhere, in whichever way."""
        return union(list(_bound_names(self._root).values()))

    def readings_of(self, name: str) -> Iterator[Reading]:
        """The places where a variable is read, in order."""
        for located, resolver in self.scopes_where(lambda piece: name in _read_names(piece)):
            for reading in resolver.readings(located.chunk, located.start):
                if reading.name == name:
                    yield reading

    def chunks_reading(self, name: str) -> Iterator[Located]:
        """The chunks in which a variable is read, in order."""
        return chunks_where(self._root, lambda piece: name in _read_names(piece))

    def bindings_of(self, kind: str) -> Iterator[Binding]:
        """The names that are bound in one way: `set`, `for`, `macro`, `import`, `with` or `parameter`."""
        for start, chunk in _placed_where(self._root, lambda piece: kind in _bound_names(piece), 0):
            for binding in chunk_bindings(chunk):
                if binding.kind == kind:
                    yield binding._replace(span=binding.span.shifted(start))

    def readings_in(self, offset: int) -> tuple[Reading, ...]:
        """The readings in the chunk that holds `offset`."""
        resolver, located = self.scopes_at(offset)
        return tuple(resolver.readings(located.chunk, located.start))

    def scopes_at(self, offset: int) -> tuple[Resolver, Located]:
        """The scopes at the beginning of the chunk that holds `offset`, and the chunk."""
        resolver = Resolver(self._late)
        located = chunk_of_offset(self._root, offset)
        piece: Piece = self._root
        start = index = 0
        while isinstance(piece, Group):
            for child_start, child_index, child in zip(
                piece.starts, piece.first_chunks, piece.children, strict=False
            ):
                if located.index < index + child_index + child.count:
                    start, index, piece = start + child_start, index + child_index, child
                    break
                pass_outline(resolver, child, start + child_start)
        return resolver, located

    def scopes_where(self, holds: Callable[[Piece], object]) -> Iterator[tuple[Located, Resolver]]:
        """The chunks for which `holds` is true, in order, each with the scopes at its beginning.

        What `holds` is false for is not entered. Whoever takes a chunk lets the resolver go over it,
        with `readings`, before the next one.
        """
        resolver = Resolver(self._late)
        return self._walk(self._root, resolver, holds, (0, 0, 0))

    def _walk(
        self, group: Group, resolver: Resolver, holds: Callable[[Piece], object], at: tuple[int, int, int]
    ) -> Iterator[tuple[Located, Resolver]]:
        index, start, line = at
        for number, child in enumerate(group.children):
            place = (
                index + group.first_chunks[number],
                start + group.starts[number],
                line + group.first_lines[number],
            )
            if not holds(child):
                pass_outline(resolver, child, place[1])
            elif isinstance(child, Chunk):
                yield Located(child, *place), resolver
            else:
                yield from self._walk(child, resolver, holds, place)

    @cached_property
    def readings(self) -> tuple[Reading, ...]:
        """Every place where a variable is read, in order."""
        return tuple(
            reading
            for located, resolver in self.scopes_where(lambda _piece: True)
            for reading in resolver.readings(located.chunk, located.start)
        )

    @cached_property
    def bindings(self) -> tuple[Binding, ...]:
        """Every name that the file binds, in order."""
        return tuple(
            binding._replace(span=binding.span.shifted(start))
            for start, chunk in _placed_where(self._root, _bound_names, 0)
            for binding in chunk_bindings(chunk)
        )

    def inputs(self) -> dict[str, list[Reading]]:
        """The readings of each variable that may come from the caller."""
        return {
            name: [reading for reading in self.readings_of(name) if reading.is_input]
            for name in sorted(self.input_names)
        }


def file_names(source: Source) -> FileNames:
    """Every reading and binding of the file, resolved."""
    return FileNames(source.root)


def _placed_where(group: Group, holds: Callable[[Piece], object], start: int) -> Iterator[tuple[int, Chunk]]:
    for offset, child in zip(group.starts, group.children, strict=False):
        if not holds(child):
            continue
        if isinstance(child, Chunk):
            yield start + offset, child
        else:
            yield from _placed_where(child, holds, start + offset)


@kept
def chunk_bindings(chunk: Chunk) -> tuple[Binding, ...]:
    """The names that the chunk binds, in order; spans count from its start."""
    found: list[Binding] = []
    for event in chunk_events(chunk):
        if event.action == "bind":
            found.append(Binding(event.name, event.span, event.detail))
        elif event.action == "open":
            found += [Binding(name, span, kind) for name, span, kind in event.bound if kind != "implied"]
    return tuple(found)


def _chunk_read_names(chunk: Chunk) -> frozenset[str]:
    return frozenset(event.name for event in chunk_events(chunk) if event.action == "read")


_read_names: Final = united(_chunk_read_names, union, of_tags=True)
"""Every name that a piece reads."""


_called_names: Final = united(
    lambda chunk: frozenset(
        event.name for event in chunk_events(chunk) if event.action == "read" and event.detail == "call"
    ),
    union,
    of_tags=True,
)
"""Every name that a piece calls."""


def _chunk_bound_names(chunk: Chunk) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for binding in chunk_bindings(chunk):
        found.setdefault(binding.kind, set()).add(binding.name)
    return {kind: frozenset(names) for kind, names in found.items()}


def _merged(each: list[dict[str, frozenset[str]]]) -> dict[str, frozenset[str]]:
    kinds = {kind for names in each for kind in names}
    return {kind: union([names[kind] for names in each if kind in names]) for kind in kinds}


_bound_names: Final = united(_chunk_bound_names, _merged, of_tags=True)
"""The names that a piece binds, by the way in which it does."""


def _without_places(chunk: Chunk) -> tuple[object, ...]:
    return tuple(
        [
            (event.action, event.name, event.detail, tuple([(name, kind) for name, _, kind in event.bound]))
            for event in chunk_events(chunk)
        ]
    )


name_steps: Final = united(_without_places, tuple[object, ...], of_tags=True)
"""What a piece binds and reads, how, in which order and in which blocks, without the places."""


def _free(steps: Outline) -> frozenset[str]:
    return frozenset(free_names(Resolver(), steps) - GLOBALS - INJECTED - FOREIGN_CONSTANTS.keys())


_input_names: Final = derived(bare_outline, _free)
"""The names that may come from around a piece."""
