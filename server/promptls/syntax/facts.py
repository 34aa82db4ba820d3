"""Facts: results that are computed from a text once, and again only when what they depend on has changed.

A *chunk fact* is a pure function of one chunk. It is cached in the chunk, and unchanged chunks are shared
between the versions of a file.

A *file fact* is a pure function of all chunks of a file whose value contains no positions (spans, offsets).
It is cached for the file and passed on to the next version. While it is computed, everything that it reads
is recorded (`promptls.facts`): chunk facts, other file facts, and chunks whose text it uses. After an
edit, these reads are compared, chunk facts only for the replaced chunks. If all are equal, the value is
still valid; otherwise it is computed again, and if the result is equal, its dependents remain valid too.

A *placed fact* is a function of a file whose value contains positions. It is cached for one version only.
Computations that read it depend on what it has read.

Two facts of chunks are equal if they differ only in spans. That is sufficient if a result is moved along
with the text, and computed again when it depends on the replaced chunks themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass
from functools import cache, lru_cache, wraps
from operator import attrgetter
from typing import Any, Concatenate, Final, NamedTuple, ParamSpec, Protocol, TypeVar

from promptls.facts import Reads, current, recorded, unrecorded
from promptls.syntax.chunk import Chunk, ChunkList, EditStep, Located, Memo, Piece, chunk_fact, fact_values
from promptls.text.positions import Span

Fact = TypeVar("Fact")
Item = TypeVar("Item")
Arguments = ParamSpec("Arguments")


def file_fact(find: Callable[[ChunkList], Fact]) -> Callable[[ChunkList], Fact]:
    """Make a function of the chunks of a file a file fact."""

    @wraps(find)
    def fact(chunks: ChunkList) -> Fact:
        memo = chunks.memos.get(fact)
        if memo is None or memo.serial != chunks.serial:
            steps = None if memo is None else chunks.steps_since(memo.serial)
            if memo is not None and steps is not None and _is_unchanged(memo.reads, chunks, steps):
                memo = chunks.memos[fact] = Memo(chunks.serial, memo.value, memo.reads)
            else:
                value, inner = recorded(chunks.serial, find, chunks)
                if memo is not None and memo.value == value:
                    value = memo.value
                memo = chunks.memos[fact] = Memo(chunks.serial, value, inner)
        reads = current.get()
        if reads is not None and reads.serial == chunks.serial:
            reads.facts[fact] = memo.value
        return memo.value  # type: ignore[no-any-return]  # stored above

    return fact


class Versioned(Protocol):
    """An object about one version of a file, such as its chunks; `facts` caches what is computed from it."""

    @property
    def serial(self) -> int:
        """The serial number of the version."""

    @property
    def facts(self) -> dict[Any, Any]:
        """The cached facts."""


Owner = TypeVar("Owner", bound=Versioned)


def placed_fact(
    find: Callable[Concatenate[Owner, Arguments], Fact],
) -> Callable[Concatenate[Owner, Arguments], Fact]:
    """Make a function of one version of a file, and of hashable arguments, a placed fact."""

    @wraps(find)
    def fact(owner: Owner, /, *arguments: Arguments.args, **named: Arguments.kwargs) -> Fact:
        key = (fact, arguments)
        known: tuple[Fact, Reads] | None = owner.facts.get(key)
        if known is None:
            known = owner.facts[key] = recorded(owner.serial, find, owner, *arguments, **named)
        known[1].pass_on()
        return known[0]

    return fact


def _is_unchanged(reads: Reads, chunks: ChunkList, steps: tuple[EditStep, ...]) -> bool:
    """Return whether everything that was read of an earlier version of the file is unchanged in this one.

    `steps` are the edits since that version.
    """
    if reads.is_whole:
        return not steps
    if reads.chunks and not all(reads.chunks.isdisjoint(step.old) for step in steps):
        return False
    return unrecorded(next, _changed_facts(reads, chunks, steps), None) is None


class Changes:
    """What has changed of what some computations about an earlier version of a file have read.

    `reads` are the reads of all of them, `steps` the edits since that version, and `subject` is what their
    questions are about.
    """

    def __init__(self, reads: Reads, chunks: ChunkList, steps: tuple[EditStep, ...], subject: object) -> None:
        self._is_edited: Final = bool(steps)
        self._changed: Final[set[object]] = {
            *reads.changed(subject),
            *unrecorded(list, _changed_facts(reads, chunks, steps)),
            *(chunk for step in steps for chunk in step.old),
        }

    def affect(self, reads: Reads) -> bool:
        """Return whether any of the `reads` of a computation has changed."""
        return not (
            reads.columns.keys().isdisjoint(self._changed)
            and reads.facts.keys().isdisjoint(self._changed)
            and reads.chunks.isdisjoint(self._changed)
            and reads.answers.keys().isdisjoint(self._changed)
            and not (reads.is_whole and self._is_edited)
        )


def _changed_facts(
    reads: Reads, chunks: ChunkList, steps: tuple[EditStep, ...]
) -> Iterator[Callable[..., object]]:
    """Yield the facts of chunks and of the file whose values differ from those that were read."""
    for step in steps:
        for column in reads.columns:
            if not _is_same_column(step, column):
                yield column
    for fact, value in reads.facts.items():
        now = fact(chunks)
        if now is not value and now != value:
            yield fact


def _is_same_column(step: EditStep, column: Callable[[Chunk], object]) -> bool:
    """Return whether an edit left a chunk fact unchanged in all chunks."""
    same = step.same.get(column)
    if same is None:
        same = len(step.old) == len(step.new)
        for old, new in zip(step.old, step.new, strict=False) if same else ():
            before, now = column(old), column(new)
            if before is now or before == now:
                continue
            if not (step.keeps_lines and _equal_but_places(before, now)):
                same = False
                break
        step.same[column] = same
    return same


def _equal_but_places(one: object, other: object) -> bool:
    """Return whether two values differ only in spans."""
    if one is other:
        return True
    kind = type(one)
    if kind is not type(other):
        return False
    if kind is Span:
        return True
    if isinstance(one, tuple):
        assert isinstance(other, tuple)
        return len(one) == len(other) and all(map(_equal_but_places, one, other))
    if isinstance(one, dict):
        assert isinstance(other, dict)
        return one.keys() == other.keys() and all(_equal_but_places(one[key], other[key]) for key in one)
    if one == other:
        return True
    if is_dataclass(kind):
        fields_of = _field_getter(kind)
        return _equal_but_places(fields_of(one), fields_of(other))
    return False


@lru_cache
def _field_getter(kind: Any) -> Callable[[object], tuple[object, ...]]:
    """Return a function that returns the fields of a dataclass's objects, after their class."""
    return attrgetter("__class__", *[each.name for each in fields(kind)])


# -- facts that are combined from those of chunks -----------------------------------------------


def summary(of_chunk: Callable[[Chunk], Fact], join: Callable[[list[Fact]], Fact]) -> Callable[[Piece], Fact]:
    """Return a fact of chunks and of files, which joins those of the file's chunks; it has no positions."""
    in_chunk = chunk_fact(of_chunk)
    in_file = file_fact(lambda chunks: join(fact_values(in_chunk, chunks.chunks)))

    def fact(piece: Piece) -> Fact:
        return in_chunk(piece) if isinstance(piece, Chunk) else in_file(piece)

    return fact


class Occurring(NamedTuple):
    """The names in a piece, and those that are in it more than once."""

    all: frozenset[str]
    repeated: frozenset[str]


def occurring(names_in: Callable[[Chunk], Iterable[str]]) -> Callable[[Piece], Occurring]:
    """Return a summary: the names in a piece, by a function that returns those of a chunk."""

    def join(found: Iterable[Occurring]) -> Occurring:
        seen, repeated = set[str](), set[str]()
        for each in found:
            repeated |= each.repeated | (each.all & seen)
            seen |= each.all
        return Occurring(frozenset(seen), frozenset(repeated))

    return summary(
        lambda chunk: join(Occurring(frozenset((name,)), frozenset()) for name in names_in(chunk)), join
    )


@cache
def has_any(of_chunk: Callable[[Chunk], object]) -> Callable[[Piece], bool]:
    """Return a summary: whether a chunk, or a file, has any items of a chunk fact."""
    return summary(lambda chunk: bool(of_chunk(chunk)), any)


def items_in(
    chunks: ChunkList, of_chunk: Callable[[Chunk], Iterable[Item]]
) -> Iterator[tuple[Located, Item]]:
    """Yield the items of a chunk fact in a file, each with its chunk; chunks without any are not read."""
    for located in chunks.where(has_any(of_chunk)):
        for item in of_chunk(located.chunk):
            yield located, item


def chunks_with(
    chunks: ChunkList, names_in: Callable[[Piece], frozenset[Item]], names: frozenset[Item]
) -> Iterator[Located]:
    """Yield the chunks that have any of the names, by a summary with the names of a chunk."""
    if names:
        yield from chunks.where(lambda piece: not names.isdisjoint(names_in(piece)))


def placed_items(
    of_chunk: Callable[[Chunk], Iterable[Item]], shifted: Callable[[Item, int], Item]
) -> Callable[[ChunkList], tuple[Item, ...]]:
    """Return a placed fact: all items of a file in order, at offsets from its beginning."""
    in_chunk = chunk_fact(lambda chunk: tuple(of_chunk(chunk)))
    has_any = file_fact(lambda chunks: any(fact_values(in_chunk, chunks.chunks)))

    @placed_fact
    def items(chunks: ChunkList) -> tuple[Item, ...]:
        if not has_any(chunks):
            return ()
        return tuple(
            [
                shifted(item, start) if start else item
                for start, found in zip(chunks.starts, fact_values(in_chunk, chunks.chunks), strict=False)
                for item in found
            ]
        )

    return items


def union(sets: list[frozenset[Item]]) -> frozenset[Item]:
    """Return the union of some sets, without a copy if at most one of them is not empty."""
    some = [each for each in sets if each]
    if not some:
        return frozenset()
    return some[0].union(*some[1:]) if len(some) > 1 else some[0]
