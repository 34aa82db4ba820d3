"""The blocks of a file with all their tags, within chunks and across them.

A block that is never closed is there as well, so that what stands in it keeps its meaning while
the block is being typed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from promptls.syntax.chunk import Chunk, kept
from promptls.syntax.group import chunks_where, united
from promptls.syntax.jinja.blocks import BlockTag, block_tags, chunk_blocks
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.scan import Tag
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
    end = span.end
    for block in blocks_inside(chunk):
        if span.start <= block.span.start < end < block.span.end and not _has_text(
            chunk, end, block.span.end
        ):
            end = block.span.end
    return Span(span.start, end)


def _has_text(chunk: Chunk, start: int, end: int) -> bool:
    """Whether anything but tags and white space stands between two places."""
    position = start
    for tag in chunk.tags:
        if tag.span.end <= start:
            continue
        if tag.span.start >= end:
            break
        if chunk.text[position : max(tag.span.start, position)].strip():
            return True
        position = tag.span.end
    return bool(chunk.text[position:end].strip())


def blocks_across(source: Source) -> tuple[FileBlock, ...]:
    """The blocks that reach over chunks, and those that are never closed, in order."""
    found: list[FileBlock] = []
    stack: list[list[tuple[BlockTag, Span]]] = []
    for tag, span in _loose(source):
        if tag.action == "open":
            stack.append([(tag, span)])
        elif tag.action == "middle":
            if stack:
                stack[-1].append((tag, span))
        elif any(opened[0][0].keyword == tag.keyword for opened in stack):
            while stack[-1][0][0].keyword != tag.keyword:
                found.append(_block(stack.pop(), is_closed=False))
            found.append(_block([*stack.pop(), (tag, span)], is_closed=True))
    found += (_block(opened, is_closed=False) for opened in stack)
    return tuple(sorted(found, key=lambda block: block.tags))


def _block(tags: list[tuple[BlockTag, Span]], *, is_closed: bool) -> FileBlock:
    keyword = tags[0][0].keyword
    spans = tuple(span for _, span in tags)
    return FileBlock(keyword, spans, tuple(tag.span for tag, _ in tags), is_closed)


_has_loose: Final = united(lambda chunk: bool(chunk_blocks(chunk).loose), any)
"""Whether a piece has a block tag whose partner is in another chunk."""


def _loose(source: Source) -> Iterator[tuple[BlockTag, Span]]:
    """The tags whose partners are in other chunks, each with the span of the whole tag."""
    for located in chunks_where(source.root, _has_loose):
        for tag in chunk_blocks(located.chunk).loose:
            placed = tag._replace(span=tag.span.shifted(located.start))
            yield placed, located.chunk.tags[tag.place].span.shifted(located.start)


def block_at(source: Source, offset: int) -> FileBlock | None:
    """The block of which a tag's keyword stands at `offset`."""
    located = source.located(offset)
    inside = offset - located.start
    if not any(tag.span.contains(inside) for tag in block_tags(located.chunk)):
        return None
    for block in blocks_inside(located.chunk):
        if any(span.contains(inside) for span in block.keywords):
            return block.shifted(located.start)
    for block in blocks_across(source):
        if any(span.contains(offset) for span in block.keywords):
            return block
    return None
