"""Chunks in a balanced tree, so that a fact of the whole file costs what an edit changed.

A group holds some chunks, or some groups of them, and knows nothing of where it stands. An
edit makes the groups on the way to what changed anew and shares all others, with everything
that is kept with them. A fact of a file is therefore a function of a *piece*, a chunk or a
group: worked out from the text for a chunk, put together from its children's for a group,
and kept with each (`gathered` and `united` make such functions).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise
from operator import attrgetter
from typing import Final, TypeVar

from promptls.syntax.chunk import FACTS_OF_TAGS, Chunk

_MOST_CHILDREN: Final = 24
_FEWEST_CHILDREN: Final = 6


class Group:
    """Some pieces in a row; `starts` and `first_lines` count from the group's own beginning.

    All children are chunks, or all are groups of one height. `before` is there for a group that an
    edit made of another one by replacing one child: what was kept with the other group, the child as
    it was, and the child as it is. What is known of both children alike is known of both groups alike.
    `has_same_tags` says that the edit left the text of every tag as it was.
    """

    __slots__ = (
        "before",
        "children",
        "count",
        "first_chunks",
        "first_lines",
        "has_same_tags",
        "is_reaching",
        "kept",
        "length",
        "line_ends",
        "starts",
    )

    def __init__(self, children: tuple[Chunk | Group, ...]) -> None:
        self.children: Final = children
        self.starts: Final = list(accumulate([child.length for child in children], initial=0))
        self.first_lines: Final = list(accumulate([child.line_ends for child in children], initial=0))
        self.first_chunks: Final = list(accumulate([child.count for child in children], initial=0))
        self.length: Final[int] = self.starts[-1]
        self.line_ends: Final[int] = self.first_lines[-1]
        self.count: Final[int] = self.first_chunks[-1]
        self.is_reaching: Final[bool] = any(child.is_reaching for child in children)
        self.kept: Final[dict[object, object]] = {}
        self.before: tuple[dict[object, object], Chunk | Group, Chunk | Group] | None = None
        self.has_same_tags = False


Piece = Chunk | Group


@dataclass(frozen=True, slots=True)
class Located:
    """A chunk and where it stands: its number, the offset of its start, and its first line."""

    chunk: Chunk
    index: int
    start: int
    first_line: int


# -- finding ------------------------------------------------------------------


def chunk_of_offset(group: Group, offset: int) -> Located:
    """The chunk that holds `offset`, clamped to the text; of two that meet there, the second."""
    return _descend(group, _STARTS, offset)


def chunk_of_line(group: Group, line: int) -> Located:
    """The chunk in which a line begins, clamped to the text."""
    return _descend(group, _FIRST_LINES, line)


def chunk_of_index(group: Group, index: int) -> Located:
    """The chunk of this number, clamped to those that there are."""
    return _descend(group, _FIRST_CHUNKS, index)


_STARTS: Final = attrgetter("starts")
_FIRST_LINES: Final = attrgetter("first_lines")
_FIRST_CHUNKS: Final = attrgetter("first_chunks")


def _descend(group: Group, firsts: Callable[[Group], list[int]], wanted: int) -> Located:
    index = start = first_line = 0
    while True:
        bounds = firsts(group)
        child = bisect_right(bounds, wanted, 1, len(group.children)) - 1
        wanted -= bounds[child]
        index += group.first_chunks[child]
        start += group.starts[child]
        first_line += group.first_lines[child]
        piece = group.children[child]
        if isinstance(piece, Chunk):
            return Located(piece, index, start, first_line)
        group = piece


def chunks_from(group: Group, index: int) -> Iterator[Located]:
    """The chunks from number `index` on, in order."""
    return _from(group, index, 0, 0, 0)


def _from(group: Group, wanted: int, index: int, start: int, first_line: int) -> Iterator[Located]:
    first = max(bisect_right(group.first_chunks, wanted - index) - 1, 0)
    for child in range(first, len(group.children)):
        piece = group.children[child]
        at = (
            index + group.first_chunks[child],
            start + group.starts[child],
            first_line + group.first_lines[child],
        )
        if isinstance(piece, Chunk):
            yield Located(piece, *at)
        else:
            yield from _from(piece, wanted, *at)


def chunks_where(group: Group, holds: Callable[[Piece], object]) -> Iterator[Located]:
    """The chunks for which `holds` is true, in order; what it is false for is not entered."""
    return _where(group, holds, 0, 0, 0)


def _where(
    group: Group, holds: Callable[[Piece], object], index: int, start: int, first_line: int
) -> Iterator[Located]:
    for child, piece in enumerate(group.children):
        if not holds(piece):
            continue
        at = (
            index + group.first_chunks[child],
            start + group.starts[child],
            first_line + group.first_lines[child],
        )
        if isinstance(piece, Chunk):
            yield Located(piece, *at)
        else:
            yield from _where(piece, holds, *at)


# -- building -----------------------------------------------------------------


def grouped(chunks: Iterable[Chunk]) -> Group:
    """The tree of some chunks, at least one."""
    return _rooted(_packed(tuple(chunks)))


def replaced(group: Group, first: int, last: int, fresh: tuple[Chunk, ...]) -> Group:
    """The tree with the chunks from number `first` to `last`, both included, replaced by others."""
    return _rooted(_replaced(group, first, last, fresh))


def _rooted(groups: list[Group]) -> Group:
    while len(groups) > 1:
        groups = _packed(tuple(groups))
    (root,) = groups
    while len(root.children) == 1 and isinstance(root.children[0], Group):
        root = root.children[0]
    return root


def _packed(children: tuple[Chunk | Group, ...]) -> list[Group]:
    """The children in as few groups as can hold them, of about one size."""
    number = -(-len(children) // _MOST_CHILDREN)
    bounds = [len(children) * index // number for index in range(number + 1)] if number else [0]
    return [Group(children[begin:end]) for begin, end in pairwise(bounds)]


def _replaced(group: Group, first: int, last: int, fresh: tuple[Chunk, ...]) -> list[Group]:
    """The groups that take a group's place; none where nothing is left of it."""
    if isinstance(group.children[0], Chunk):
        packed = _packed((*group.children[:first], *fresh, *group.children[last + 1 :]))
        return _succeeding(group, packed)
    children: list[Group] = []
    rest = fresh
    for begin, child in zip(group.first_chunks, group.children, strict=False):
        assert isinstance(child, Group)
        if last < begin or first >= begin + child.count:
            children.append(child)
            continue
        changed = _replaced(child, max(first - begin, 0), min(last - begin, child.count - 1), rest)
        rest = ()
        for each in changed:
            if children and min(len(children[-1].children), len(each.children)) < _FEWEST_CHILDREN:
                children[-1:] = _packed((*children[-1].children, *each.children))
            else:
                children.append(each)
    return _succeeding(group, _packed(tuple(children)))


def _succeeding(group: Group, groups: list[Group]) -> list[Group]:
    """The groups that take a group's place; a single one that differs in one child remembers the other."""
    if len(groups) == 1 and len(groups[0].children) == len(group.children):
        pairs = [
            (old, new) for old, new in zip(group.children, groups[0].children, strict=True) if old is not new
        ]
        if len(pairs) == 1:
            old, new = pairs[0]
            groups[0].before = (group.kept, old, new)
            if new.has_same_tags:
                groups[0].has_same_tags = True
                for fact in FACTS_OF_TAGS & group.kept.keys():
                    groups[0].kept[fact] = group.kept[fact]
            for fact in DERIVED & group.kept.keys():
                groups[0].kept[fact] = group.kept[fact]
    group.before = None  # or each edit would hold on to all those before it
    return groups


# -- facts --------------------------------------------------------------------

Fact = TypeVar("Fact")
Item = TypeVar("Item")
_MISSING: Final = object()
DERIVED: Final[set[object]] = set()
"""The functions that `derived` has made."""


def united(
    of_chunk: Callable[[Chunk], Fact], join: Callable[[list[Fact]], Fact], *, of_tags: bool = False
) -> Callable[[Piece], Fact]:
    """A fact that a chunk has by itself and a group has by its children's, kept with each piece.

    It says nothing of places. Where an edit leaves a chunk's fact as it was, the groups around it
    keep theirs without being put together again. A fact `of_tags` depends on nothing but the texts of
    the tags in a chunk.
    """

    def fact(piece: Piece) -> Fact:
        found = piece.kept.get(fact, _MISSING)
        if found is _MISSING:
            if isinstance(piece, Chunk):
                found = of_chunk(piece)
            else:
                before = piece.before
                if before is not None and fact in before[0] and same(before[1], before[2]):
                    found = before[0][fact]
                else:
                    found = join([fact(child) for child in piece.children])
                    if before is not None and before[0].get(fact, _MISSING) == found:
                        found = before[0][fact]  # so that what follows from it holds, too
            piece.kept[fact] = found
        return found  # type: ignore[return-value]  # put there above

    def same(old: Piece, new: Piece) -> bool:
        before = old.kept.get(fact, _MISSING)
        if before is _MISSING:
            return False
        now = fact(new)
        return before is now or before == now

    if of_tags:
        FACTS_OF_TAGS.add(fact)
    return fact


def derived(fact: Callable[[Piece], Fact], derive: Callable[[Fact], Item]) -> Callable[[Piece], Item]:
    """What follows from a fact of a piece alone; worked out again only where the fact is another one.

    It is handed from one text of a file to the next, also past texts of which nobody asked for it.
    """

    def following(piece: Piece) -> Item:
        now = fact(piece)
        known = piece.kept.get(following)
        if not isinstance(known, tuple) or known[0] is not now:
            known = piece.kept[following] = (now, derive(now))
        return known[1]  # type: ignore[no-any-return]  # put there above

    DERIVED.add(following)
    return following


def gathered(
    of_chunk: Callable[[Chunk], Iterable[Item]], shifted: Callable[[Item, int], Item]
) -> Callable[[Piece], tuple[Item, ...]]:
    """All items of a piece in order, at offsets from its beginning.

    For what is rare in a file, such as errors: a group's items are shifted at each edit in it.
    """

    def items(piece: Piece) -> tuple[Item, ...]:
        found = piece.kept.get(items)
        if found is None:
            if isinstance(piece, Chunk):
                found = tuple(of_chunk(piece))
            elif piece.before is not None and piece.before[0].get(items) == () == items(piece.before[2]):
                found = ()
            else:
                found = ()
                for start, child in zip(piece.starts, piece.children, strict=False):
                    own = items(child)
                    if own:
                        found += tuple([shifted(item, start) for item in own]) if start else own
            piece.kept[items] = found
        return found  # type: ignore[return-value]  # put there above

    return items


def union(sets: list[frozenset[str]]) -> frozenset[str]:
    """The union of some sets, without a new set where one of them is all there is."""
    some = [each for each in sets if each]
    if not some:
        return frozenset()
    return some[0].union(*some[1:]) if len(some) > 1 else some[0]
