"""The blocks around the positions of a file or a chunk, and which positions one rendering reaches.

Two positions exclude each other if they are in different branches of one `if`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from promptls.syntax.chunk import Chunk, ChunkList, Piece, chunk_fact, fact_values
from promptls.syntax.facts import file_fact, placed_fact
from promptls.syntax.jinja.blocks import BlockTag, block_tags, chunk_blocks, loose_tags
from promptls.syntax.source import Source

_REPEATING = frozenset({"for", "macro", "call", "block"})


class OpenBlock(NamedTuple):
    """A block around a position: the offset of its opening tag, and the index of the branch."""

    keyword: str
    opening: int
    branch: int


class Branches(NamedTuple):
    """The branches of a piece, at offsets from its start.

    A block that the piece does not close does not count: it may still be incomplete. `unclosed` are the
    offsets of the tags that open such blocks.
    """

    piece: Piece
    unclosed: frozenset[int]

    def at(self, offset: int) -> tuple[OpenBlock, ...]:
        """Return the blocks around `offset`, outermost first."""
        stack: list[OpenBlock] = []
        chunk, start = self.piece, 0
        if isinstance(chunk, ChunkList):
            located = chunk.at_offset(offset)
            if _has_loose_tags(chunk):
                stack += _blocks_at_chunks(chunk)[located.index]
            chunk, start = located.chunk, located.start
        _pass(stack, _tags_around(chunk, offset - start), start)
        if self.unclosed:
            stack = [block for block in stack if block.opening not in self.unclosed]
        return tuple(stack)

    def is_unconditional(self, offset: int) -> bool:
        """Return whether rendering reaches the position regardless of the data."""
        return not any(block.keyword == "if" or block.keyword in _REPEATING for block in self.at(offset))

    def exclude(self, first: int, second: int) -> bool:
        """Return whether no rendering reaches both positions."""
        return _are_exclusive(self.at(first), self.at(second))

    def come_together(self, first: int, second: int) -> bool:
        """Return whether every rendering that reaches the deeper of two positions also reaches the other."""
        one, other = self.at(first), self.at(second)
        common = min(len(one), len(other))
        return one[:common] == other[:common]


@file_fact
def _has_loose_tags(chunks: ChunkList) -> bool:
    return any(blocks.loose for blocks in fact_values(chunk_blocks, chunks.chunks))


@placed_fact
def _blocks_at_chunks(chunks: ChunkList) -> tuple[tuple[OpenBlock, ...], ...]:
    stack: list[OpenBlock] = []
    found: list[tuple[OpenBlock, ...]] = []
    for start, blocks in zip(chunks.starts, fact_values(chunk_blocks, chunks.chunks), strict=False):
        found.append(tuple(stack))
        _pass(stack, blocks.loose, start)
    return tuple(found)


def _are_exclusive(first: tuple[OpenBlock, ...], second: tuple[OpenBlock, ...]) -> bool:
    """Return whether no rendering reaches two positions, by the blocks around them."""
    return any(
        one.opening == other.opening and one.branch != other.branch
        for one, other in zip(first, second, strict=False)
        if one.keyword == "if"
    )


def branches_of(source: Source) -> Branches:
    """Return the branches of a file."""
    return Branches(source.root, _unclosed(source.root))


def chunk_branches(chunk: Chunk) -> Branches:
    """Return the branches of a chunk."""
    # The cached value must not reference the chunk: a cycle would keep it alive until garbage collection.
    return Branches(chunk, _unclosed_in(chunk))


def _unclosed(piece: Piece) -> frozenset[int]:
    """Return the offsets of blocks that the piece does not close, or closes with a wrong tag."""
    stack: list[BlockTag] = []
    unclosed: set[int] = set()
    for tag in loose_tags(piece):
        if tag.action == "open":
            stack.append(tag)
        elif tag.action == "close" and any(block.keyword == tag.keyword for block in stack):
            while (opening := stack.pop()).keyword != tag.keyword:
                unclosed.add(opening.span.start)
    return frozenset([*unclosed, *(tag.span.start for tag in stack)])


_unclosed_in: Final = chunk_fact(_unclosed)


def _tags_around(chunk: Chunk, offset: int) -> Iterator[BlockTag]:
    """Yield the tags that determine the open blocks at a position, without those of closed blocks."""
    last = bisect_right(chunk.tags, offset, key=lambda tag: tag.span.start)
    blocks = chunk_blocks(chunk)
    places = {tag.place for tag in blocks.loose if tag.place < last}
    for pair in blocks.pairs[: bisect_left(blocks.pairs, last, key=lambda pair: pair.opening)]:
        if pair.closing >= last - 1:
            places.update((pair.opening, *pair.middles, pair.closing))
    tags = block_tags(chunk)
    for place in sorted(places):
        tag = tags[bisect_left(tags, place, key=lambda tag: tag.place)]
        if tag.span.start <= offset:
            yield tag


def _pass(stack: list[OpenBlock], tags: Iterable[BlockTag], start: int) -> None:
    for tag in tags:
        if tag.action == "open":
            stack.append(OpenBlock(tag.keyword, start + tag.span.start, 0))
        elif tag.action == "middle" and stack:
            stack[-1] = stack[-1]._replace(branch=stack[-1].branch + 1)
        elif tag.action == "close" and any(block.keyword == tag.keyword for block in stack):
            while stack.pop().keyword != tag.keyword:
                pass
