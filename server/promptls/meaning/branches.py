"""Which branch of which `if` a place stands in, so that two places can be told to exclude each other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from promptls.syntax.chunk import Chunk, kept
from promptls.syntax.group import Piece
from promptls.syntax.jinja.blocks import BlockTag, block_tags, loose_tags
from promptls.syntax.source import Source

_REPEATING = frozenset({"for", "macro", "call", "block"})


class OpenBlock(NamedTuple):
    """A block around a place: the offset of its opening tag, and in which of its branches the place is."""

    keyword: str
    opening: int
    branch: int


class Branches(NamedTuple):
    """The branches of a piece, at offsets from its start.

    A block that the piece does not close is none: it may be one that is just being written. `unclosed`
    are the places of the tags that open such blocks.
    """

    piece: Piece
    unclosed: frozenset[int]

    def at(self, offset: int) -> tuple[OpenBlock, ...]:
        """The blocks around the place at `offset`, outermost first."""
        stack: list[OpenBlock] = []
        piece, start = self.piece, 0
        while not isinstance(piece, Chunk):
            for number, child in enumerate(piece.children):
                begin = start + piece.starts[number]
                if offset < begin + child.length or number + 1 == len(piece.children):
                    piece, start = child, begin
                    break
                _pass(stack, loose_tags(child), begin)
        _pass(stack, (tag for tag in block_tags(piece) if start + tag.span.start <= offset), start)
        if self.unclosed:
            stack = [block for block in stack if block.opening not in self.unclosed]
        return tuple(stack)

    def is_unconditional(self, offset: int) -> bool:
        """Whether rendering reaches the place whatever the data is."""
        return not any(block.keyword == "if" or block.keyword in _REPEATING for block in self.at(offset))

    def exclude(self, first: int, second: int) -> bool:
        """Whether no rendering has both places."""
        return are_exclusive(self.at(first), self.at(second))

    def come_together(self, first: int, second: int) -> bool:
        """Whether every rendering that has the one of two places which stands deeper has the other too."""
        one, other = self.at(first), self.at(second)
        common = min(len(one), len(other))
        return one[:common] == other[:common]


def are_exclusive(first: tuple[OpenBlock, ...], second: tuple[OpenBlock, ...]) -> bool:
    """Whether no rendering has two places, by the blocks around them."""
    return any(
        one.opening == other.opening and one.branch != other.branch
        for one, other in zip(first, second, strict=False)
        if one.keyword == "if"
    )


def branches_of(source: Source) -> Branches:
    """The branches of a file."""
    return Branches(source.root, _unclosed(source.root))


def chunk_branches(chunk: Chunk) -> Branches:
    """The branches of a chunk by itself."""
    # What is kept with a chunk does not name it: it would live on after its edit until a collection.
    return Branches(chunk, _unclosed_in(chunk))


def _unclosed(piece: Piece) -> frozenset[int]:
    """Where those blocks open that the piece does not close, or closes by another's tag."""
    stack: list[BlockTag] = []
    unclosed: set[int] = set()
    for tag in loose_tags(piece):
        if tag.action == "open":
            stack.append(tag)
        elif tag.action == "close" and any(block.keyword == tag.keyword for block in stack):
            while (opening := stack.pop()).keyword != tag.keyword:
                unclosed.add(opening.span.start)
    return frozenset([*unclosed, *(tag.span.start for tag in stack)])


_unclosed_in: Final = kept(_unclosed)


def _pass(stack: list[OpenBlock], tags: Iterable[BlockTag], start: int) -> None:
    for tag in tags:
        if tag.action == "open":
            stack.append(OpenBlock(tag.keyword, start + tag.span.start, 0))
        elif tag.action == "middle" and stack:
            stack[-1] = stack[-1]._replace(branch=stack[-1].branch + 1)
        elif tag.action == "close" and any(block.keyword == tag.keyword for block in stack):
            while stack.pop().keyword != tag.keyword:
                pass
