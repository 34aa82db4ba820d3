"""Match the tags that open, divide and close blocks, within chunks and across them.

The pairs of a piece, a chunk or a group of chunks, are matched once and cached in it; only
tags whose partner is elsewhere are processed further up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import Final, NamedTuple

from promptls.syntax.chunk import Chunk, ChunkList, Piece, chunk_fact
from promptls.syntax.facts import placed_fact, summary
from promptls.syntax.jinja.builtins import BLOCKS, MIDDLES
from promptls.syntax.jinja.problems import tag_tree
from promptls.text.positions import NOWHERE, Span

_CLOSERS: Final = {f"end{keyword}": keyword for keyword in BLOCKS}


class BlockTag(NamedTuple):
    """A tag that opens, divides or closes a block; `place` is its index among the chunk's tags."""

    action: str
    keyword: str
    span: Span
    place: int


def pass_tag(open_blocks: list[str], tag: BlockTag) -> None:
    """Update the keywords of the open blocks, the innermost last; an end also closes the blocks inside."""
    if tag.action == "open":
        open_blocks.append(tag.keyword)
    elif tag.action == "close" and tag.keyword in open_blocks:
        while open_blocks.pop() != tag.keyword:
            pass


class Pair(NamedTuple):
    """A block, by the places of its tags."""

    keyword: str
    opening: int
    middles: tuple[int, ...]
    closing: int


class Matched(NamedTuple):
    """The blocks among some tags, and the tags whose partner is not among them, in order."""

    pairs: tuple[Pair, ...]
    loose: tuple[BlockTag, ...]


@chunk_fact
def block_tags(chunk: Chunk) -> tuple[BlockTag, ...]:
    """Return the tags of the chunk that open, divide or close a block."""
    return tuple(_block_tags(chunk))


def _block_tags(chunk: Chunk) -> Iterator[BlockTag]:
    for index, tag in enumerate(chunk.tags):
        if tag.kind != "statement":
            continue
        statement = tag_tree(tag).statement
        keyword = statement.keyword
        span = statement.keyword_span.shifted(tag.span.start)
        if statement.opens_block:
            yield BlockTag("open", keyword, span, index)
        elif keyword in MIDDLES:
            following = tag.text[statement.keyword_span.end : tag.inner_end].split(maxsplit=1)[:1]
            is_elif = keyword == "else" and following == ["if"]  # as in other languages
            yield BlockTag("middle", "elif" if is_elif else keyword, span, index)
        elif keyword in _CLOSERS:
            yield BlockTag("close", _CLOSERS[keyword], span, index)


@chunk_fact
def chunk_blocks(chunk: Chunk) -> Matched:
    """Return the chunk's own blocks, and the tags whose partner is elsewhere."""
    return match_tags(block_tags(chunk))


def loose_tags(piece: Piece) -> tuple[BlockTag, ...]:
    """Return the tags of a piece whose partner is outside of it; spans count from the piece's start."""
    if isinstance(piece, Chunk):
        return chunk_blocks(piece).loose
    if not _loose_actions(piece):
        return ()  # the positions of inner tags change with every edit, and are not needed to know this
    return _loose_in_file(piece)


@placed_fact
def _loose_in_file(chunks: ChunkList) -> tuple[BlockTag, ...]:
    placed = [
        tag._replace(span=tag.span.shifted(start))
        for start, child in zip(chunks.starts, chunks.chunks, strict=False)
        for tag in chunk_blocks(child).loose
    ]
    return match_tags(tag._replace(place=index) for index, tag in enumerate(placed)).loose


def spanning_blocks(chunks: Iterable[Chunk]) -> list[tuple[int, int]]:
    """Return the blocks that begin in one of the chunks and end in a later one, by the indexes of both."""
    loose = [(index, tag) for index, chunk in enumerate(chunks) for tag in chunk_blocks(chunk).loose]
    pairs = match_tags(tag._replace(place=place) for place, (_, tag) in enumerate(loose)).pairs
    return [(loose[pair.opening][0], loose[pair.closing][0]) for pair in pairs]


def match_tags(tags: Iterable[BlockTag]) -> Matched:
    """Match the tags that certainly belong together; those around a wrong tag remain unmatched."""
    pairs: list[Pair] = []
    loose: list[BlockTag] = []
    stack: list[tuple[BlockTag, list[BlockTag]]] = []
    for tag in tags:
        if tag.action == "open":
            stack.append((tag, []))
        elif tag.action == "middle" and stack and _divides(tag, *stack[-1]):
            stack[-1][1].append(tag)
        elif tag.action == "close" and stack and stack[-1][0].keyword == tag.keyword:
            opening, middles = stack.pop()
            pairs.append(
                Pair(tag.keyword, opening.place, tuple(middle.place for middle in middles), tag.place)
            )
        else:
            for opening, middles in stack:
                loose += [opening, *middles]
            stack.clear()
            loose.append(tag)
    for opening, middles in stack:
        loose += [opening, *middles]
    pairs.sort(key=attrgetter("opening"))
    loose.sort(key=attrgetter("place"))
    return Matched(tuple(pairs), tuple(loose))


def _actions(tags: Iterable[BlockTag]) -> tuple[tuple[str, str], ...]:
    return tuple([(tag.action, tag.keyword) for tag in tags])


def _join_actions(pieces: list[tuple[tuple[str, str], ...]]) -> tuple[tuple[str, str], ...]:
    actions = [action for piece in pieces for action in piece]
    tags = (BlockTag(*action, NOWHERE, index) for index, action in enumerate(actions))
    return _actions(match_tags(tags).loose)


_loose_actions: Final = summary(lambda chunk: _actions(chunk_blocks(chunk).loose), _join_actions)
"""The effects of the tags of a piece whose partner is outside of it, and on which blocks, without spans."""


def _divides(middle: BlockTag, opening: BlockTag, before: list[BlockTag]) -> bool:
    """Return whether the tag may divide the block after the preceding dividing tags."""
    return opening.keyword in MIDDLES[middle.keyword] and not (before and before[-1].keyword == "else")
