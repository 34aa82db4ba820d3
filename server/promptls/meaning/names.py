"""All names of a file: what it binds, what it reads, and what it takes from its caller.

Most chunks bind nothing that another chunk reads. Their names are resolved once and kept
with them, and looked up among what other chunks bind; only chunks that bind a name for
others, or open a scope for them, are gone over again when something else changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from promptls.meaning.references import template_references
from promptls.meaning.scopes import GLOBALS, INJECTED, Binding, Reading, Resolver
from promptls.syntax.chunk import Chunk, kept
from promptls.syntax.jinja.blocks import chunk_blocks
from promptls.syntax.source import Source

_NO_SCOPES: Final = frozenset({"if", "elif", "else"})
"""Tags of blocks in which names mean what they mean outside."""


@dataclass(frozen=True, slots=True)
class _Names:
    """The names of one chunk.

    Spans count from `start`. `outer` says what those names mean that the chunk reads and that
    other chunks bind; readings without a binding of their own refer to it.
    """

    start: int
    readings: tuple[Reading, ...]
    bindings: tuple[Binding, ...]
    read: frozenset[str]
    taken: frozenset[str]
    """The names that may come from the caller."""
    outer: Mapping[str, tuple[Binding, bool]]

    def placed_readings(self) -> Iterator[Reading]:
        """The readings, with spans that count from the start of the file."""
        for reading in self.readings:
            span = reading.span.shifted(self.start)
            if reading.binding is not None:
                yield reading._replace(span=span, binding=self._placed(reading.binding))
            elif reading.name in self.outer:
                binding, certain = self.outer[reading.name]
                yield reading._replace(span=span, binding=binding, certain=certain)
            else:
                yield reading._replace(span=span)

    def placed_bindings(self) -> Iterator[Binding]:
        """The bindings, with spans that count from the start of the file."""
        return map(self._placed, self.bindings)

    def _placed(self, binding: Binding) -> Binding:
        return binding._replace(span=binding.span.shifted(self.start)) if self.start else binding


class FileNames:
    """The readings and bindings of a file.

    Which names there are is known at once; where they stand is worked out when asked for.
    """

    def __init__(self, pieces: tuple[_Names, ...], *, takes_all: bool) -> None:
        self._pieces: Final = pieces
        self.takes_all: Final = takes_all
        """Whether a part of the file sees every variable by a name that nobody can read."""

    @cached_property
    def input_names(self) -> frozenset[str]:
        """The variables that may come from the caller, without those of Jinja and Prompt Poet."""
        names: set[str] = set()
        for piece in self._pieces:
            names |= piece.taken
        return frozenset(names - GLOBALS - INJECTED)

    @cached_property
    def read_names(self) -> frozenset[str]:
        """Every name that is read, whoever binds it."""
        names: set[str] = set()
        for piece in self._pieces:
            names |= piece.read
        return frozenset(names)

    def readings_of(self, name: str) -> Iterator[Reading]:
        """The places where a variable is read, in order."""
        for piece in self._pieces:
            if name in piece.read:
                yield from (reading for reading in piece.placed_readings() if reading.name == name)

    def bindings_of(self, kind: str) -> Iterator[Binding]:
        """The names that are bound in one way: `set`, `for`, `macro`, `import`, `with` or `parameter`."""
        for piece in self._pieces:
            if piece.bindings:
                yield from (binding for binding in piece.placed_bindings() if binding.kind == kind)

    @cached_property
    def readings(self) -> tuple[Reading, ...]:
        """Every place where a variable is read, in order."""
        return tuple(reading for piece in self._pieces for reading in piece.placed_readings())

    @cached_property
    def bindings(self) -> tuple[Binding, ...]:
        """Every name that the file binds, in order."""
        return tuple(binding for piece in self._pieces for binding in piece.placed_bindings())

    def inputs(self) -> dict[str, list[Reading]]:
        """The readings of each variable that may come from the caller."""
        return {
            name: [reading for reading in self.readings_of(name) if reading.is_input]
            for name in sorted(self.input_names)
        }


def file_names(source: Source) -> FileNames:
    """Every reading and binding of the file, resolved."""
    resolver = Resolver()
    found: list[_Names | tuple[slice, slice]] = []
    in_macros: list[int] = []
    takes_all = False
    for start, chunk in zip(source.starts, source.chunks, strict=False):
        takes_all = takes_all or _takes_all(chunk)
        own = _own_names(chunk)
        if own is not None and not _is_divided(chunk, resolver):
            if "macro" in resolver.blocks:
                in_macros.append(len(found))
            found.append(_seen_from(own, start, resolver.bound_here(own.taken)))
            resolver.pass_blocks(chunk_blocks(chunk).loose)
            continue
        reading, binding = len(resolver.readings), len(resolver.bindings)
        resolver.take(chunk, start)
        found.append((slice(reading, len(resolver.readings)), slice(binding, len(resolver.bindings))))
    resolver.bind_late()
    pieces = [piece if isinstance(piece, _Names) else _gathered(resolver, *piece) for piece in found]
    for index in in_macros:
        pieces[index] = _bound_late(pieces[index], resolver)
    return FileNames(tuple(pieces), takes_all=takes_all)


def _is_divided(chunk: Chunk, resolver: Resolver) -> bool:
    """Whether the chunk holds the `else` of a loop, behind which the loop's variable is gone."""
    loose = chunk_blocks(chunk).loose
    return bool(loose) and "for" in resolver.blocks and any(tag.action == "middle" for tag in loose)


def _seen_from(own: _Names, start: int, outer: dict[str, tuple[Binding, bool]]) -> _Names:
    """The names of a chunk where it stands, among the bindings of other chunks."""
    if not outer:
        return _Names(start, own.readings, own.bindings, own.read, own.taken, {})
    certain = {name for name, (_binding, is_certain) in outer.items() if is_certain}
    kept_free = {reading.name for reading in own.readings if reading.binding is not None and reading.is_input}
    taken = own.taken - (certain - kept_free)
    return _Names(start, own.readings, own.bindings, own.read, taken, outer)


def _bound_late(piece: _Names, resolver: Resolver) -> _Names:
    """The names of a chunk in a macro, which may read what the file sets further down."""
    top = resolver.scopes[0].bound
    late = {name: (top[name][0], False) for name in piece.taken if name in top and name not in piece.outer}
    return replace(piece, outer={**piece.outer, **late}) if late else piece


def _gathered(resolver: Resolver, readings: slice, bindings: slice) -> _Names:
    return _names(resolver.readings[readings], resolver.bindings[bindings])


def _names(readings: list[Reading], bindings: list[Binding]) -> _Names:
    return _Names(
        0,
        tuple(readings),
        tuple(bindings),
        frozenset(reading.name for reading in readings),
        frozenset(reading.name for reading in readings if reading.is_input),
        {},
    )


@kept
def _own_names(chunk: Chunk) -> _Names | None:
    """The names of a chunk that binds nothing for other chunks; None where it may."""
    if any(tag.keyword not in _NO_SCOPES for tag in chunk_blocks(chunk).loose):
        return None
    resolver = Resolver()
    resolver.take(chunk, 0)
    return _names(resolver.readings, resolver.bindings) if resolver.binds_nothing() else None


@kept
def _takes_all(chunk: Chunk) -> bool:
    """Whether the chunk includes a template whose name is not written out."""
    return any(reference.name is None for reference in template_references(chunk))
