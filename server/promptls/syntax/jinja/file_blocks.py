"""The blocks of a file with all their tags, within chunks and across them.

A block that is never closed is there as well, so that what stands in it keeps its meaning while
the block is being typed.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from promptls.syntax.chunk import Chunk, kept
from promptls.syntax.group import Group, Piece
from promptls.syntax.jinja.blocks import BlockTag, block_tags, chunk_blocks
from promptls.syntax.jinja.keywords import MIDDLES
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.tag import Tag
from promptls.syntax.source import Source
from promptls.text.span import Span


class FileBlock(NamedTuple):
    """A block: its keyword, and the spans of its tags, of which the first opens it.

    `keywords` are the spans of the keywords in these tags, `if`, `elif`, `endif`. A block that is
    not closed has no closing tag.
    """

    keyword: str
    tags: tuple[Span, ...]
    keywords: tuple[Span, ...]
    is_closed: bool

    @property
    def span(self) -> Span:
        """From the opening tag to behind the last one."""
        return Span(self.tags[0].start, self.tags[-1].end)

    def shifted(self, by: int) -> FileBlock:
        """The same block in a text that begins `by` characters earlier."""
        tags = tuple(span.shifted(by) for span in self.tags)
        return self._replace(tags=tags, keywords=tuple(span.shifted(by) for span in self.keywords))


@kept
def blocks_inside(chunk: Chunk) -> tuple[FileBlock, ...]:
    """The blocks that begin and end in one chunk, outer ones first; spans count from its start."""
    return tuple(
        FileBlock(
            pair.keyword,
            tuple(chunk.tags[index].span for index in (pair.opening, *pair.middles, pair.closing)),
            tuple(_keyword(chunk.tags[index]) for index in (pair.opening, *pair.middles, pair.closing)),
            is_closed=True,
        )
        for pair in chunk_blocks(chunk).pairs
    )


def _keyword(tag: Tag) -> Span:
    return tag_tree(tag).statement.keyword_span.shifted(tag.span.start)


def with_ends_of_blocks(chunk: Chunk, span: Span) -> Span:
    """The span with the closing tags behind it of blocks that are opened in it.

    A YAML value ends with its last text; `{% endif %}` behind that belongs to it all the same.
    """
    blank = _blank_until(chunk, span.end)
    closed = [
        block.span.end
        for block in blocks_inside(chunk)
        if span.start <= block.span.start < span.end < block.span.end <= blank
    ]
    return Span(span.start, max(closed, default=span.end))


def _blank_until(chunk: Chunk, start: int) -> int:
    """The place behind the last tag that nothing but tags and white space leads to from `start`."""
    index = bisect_right(chunk.tags, start, key=lambda tag: tag.span.end)
    position = start
    for tag in chunk.tags[index:]:
        if chunk.text[position : max(tag.span.start, position)].strip():
            break
        position = tag.span.end
    return position


class _Level(NamedTuple):
    """What the tags of a piece's children make: blocks that reach over children, and tags left over.

    Each tag comes with its whole span; spans count from the start of the piece.
    """

    blocks: tuple[FileBlock, ...]
    loose: tuple[tuple[BlockTag, Span], ...]


def _level(piece: Piece) -> _Level:
    known = piece.kept.get(_level)
    if known is None:
        known = piece.kept[_level] = _of_chunk(piece) if isinstance(piece, Chunk) else _of_group(piece)
    return known  # type: ignore[return-value]  # put there above


def _of_chunk(chunk: Chunk) -> _Level:
    return _Level((), tuple((tag, chunk.tags[tag.place].span) for tag in chunk_blocks(chunk).loose))


def _of_group(group: Group) -> _Level:
    """Pairs what belongs together beyond doubt; what a wrong tag stands between is left over."""
    blocks: list[FileBlock] = []
    loose: list[tuple[BlockTag, Span]] = []
    stack: list[list[tuple[BlockTag, Span]]] = []
    children: tuple[Piece, ...] = group.children
    for start, child in zip(group.starts, children, strict=False):
        for tag, span in _level(child).loose:
            placed = (tag._replace(span=tag.span.shifted(start)), span.shifted(start))
            if tag.action == "open":
                stack.append([placed])
            elif stack and tag.action == "middle" and stack[-1][0][0].keyword in MIDDLES[tag.keyword]:
                stack[-1].append(placed)
            elif stack and tag.action == "close" and stack[-1][0][0].keyword == tag.keyword:
                blocks.append(_block([*stack.pop(), placed], is_closed=True))
            else:
                loose += (each for opened in stack for each in opened)
                loose.append(placed)
                stack.clear()
    loose += (each for opened in stack for each in opened)
    return _Level(tuple(blocks), tuple(sorted(loose, key=lambda each: each[1])))


def _left_over(source: Source) -> list[FileBlock]:
    """The blocks of the tags that are left over in the end: closed by a tag further out, or never."""
    found: list[FileBlock] = []
    stack: list[list[tuple[BlockTag, Span]]] = []
    for tag, span in _level(source.root).loose:
        if tag.action == "open":
            stack.append([(tag, span)])
        elif tag.action == "middle":
            if stack and stack[-1][0][0].keyword in MIDDLES[tag.keyword]:
                stack[-1].append((tag, span))
        elif any(opened[0][0].keyword == tag.keyword for opened in stack):
            while stack[-1][0][0].keyword != tag.keyword:
                found.append(_block(stack.pop(), is_closed=False))
            found.append(_block([*stack.pop(), (tag, span)], is_closed=True))
    return [*found, *(_block(opened, is_closed=False) for opened in stack)]


def _block(tags: list[tuple[BlockTag, Span]], *, is_closed: bool) -> FileBlock:
    keyword = tags[0][0].keyword
    spans = tuple(span for _, span in tags)
    return FileBlock(keyword, spans, tuple(tag.span for tag, _ in tags), is_closed)


def blocks_across(source: Source) -> tuple[FileBlock, ...]:
    """The blocks that reach over chunks, and those that are never closed, in order."""
    found = _left_over(source)
    waiting: list[tuple[int, Piece]] = [(0, source.root)]
    while waiting:
        start, piece = waiting.pop()
        if isinstance(piece, Group):
            found += (block.shifted(start) for block in _level(piece).blocks)
            children: tuple[Piece, ...] = piece.children
            waiting += [(start + begin, child) for begin, child in zip(piece.starts, children, strict=False)]
    return tuple(sorted(found, key=lambda block: block.tags))


def blocks_around(source: Source, offset: int) -> tuple[FileBlock, ...]:
    """Those blocks of `blocks_across` that `offset` stands in, or right behind, in order."""
    found = [block for block in _left_over(source) if block.span.contains(offset)]
    piece: Piece = source.root
    start = 0
    while isinstance(piece, Group):
        placed = (block.shifted(start) for block in _level(piece).blocks)
        found += (block for block in placed if block.span.contains(offset))
        index = min(bisect_right(piece.starts, offset - start), len(piece.children)) - 1
        start, piece = start + piece.starts[index], piece.children[index]
    return tuple(sorted(found, key=lambda block: block.tags))


def block_at(source: Source, offset: int) -> FileBlock | None:
    """The block of which a tag's keyword stands at `offset`."""
    located = source.located(offset)
    inside = offset - located.start
    if not any(tag.span.contains(inside) for tag in block_tags(located.chunk)):
        return None
    near = (block.shifted(located.start) for block in blocks_inside(located.chunk))
    for block in (*near, *blocks_around(source, offset)):
        if any(span.contains(offset) for span in block.keywords):
            return block
    return None
