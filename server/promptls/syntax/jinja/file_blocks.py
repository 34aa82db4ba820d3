"""The blocks of a file with all their tags, within chunks and across them, and errors of `block` tags."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple

from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.chunk_list import ChunkList
from promptls.syntax.facts import placed_fact, summary
from promptls.syntax.jinja.blocks import BlockTag, block_tags, chunk_blocks
from promptls.syntax.jinja.keywords import MIDDLES
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.scanner import Tag
from promptls.syntax.problem import Related, SyntaxProblem
from promptls.syntax.source import Source
from promptls.text.positions import Span


class FileBlock(NamedTuple):
    """A block: its keyword, and the spans of its tags, the first of which opens it.

    `keywords` are the spans of the keywords in these tags, `if`, `elif`, `endif`. An unclosed block has no
    closing tag.
    """

    keyword: str
    tags: tuple[Span, ...]
    keywords: tuple[Span, ...]
    is_closed: bool

    @property
    def span(self) -> Span:
        """From the start of the opening tag to the end of the last one."""
        return Span(self.tags[0].start, self.tags[-1].end)

    def shifted(self, by: int) -> FileBlock:
        """Return the same block in a text that begins `by` characters earlier."""
        tags = tuple(span.shifted(by) for span in self.tags)
        return self._replace(tags=tags, keywords=tuple(span.shifted(by) for span in self.keywords))


@chunk_fact
def blocks_inside(chunk: Chunk) -> tuple[FileBlock, ...]:
    """Return the blocks that begin and end in one chunk, outer ones first; spans count from its start."""
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
    """Return the span extended by the closing tags after it of blocks that are opened in it.

    A YAML value ends with its last text; an `{% endif %}` after that is part of the value nevertheless.
    """
    blank = _blank_until(chunk, span.end)
    blocks = blocks_inside(chunk)
    first = bisect_left(blocks, span.start, key=_start)
    opened = blocks[first : bisect_left(blocks, span.end, lo=first, key=_start)]
    closed = [block.span.end for block in opened if span.end < block.span.end <= blank]
    return Span(span.start, max(closed, default=span.end))


def _start(block: FileBlock) -> int:
    return block.span.start


def _blank_until(chunk: Chunk, start: int) -> int:
    """Return the end of the last tag that follows `start` with only tags and white space in between."""
    index = bisect_right(chunk.tags, start, key=lambda tag: tag.span.end)
    position = start
    for tag in chunk.tags[index:]:
        if chunk.text[position : max(tag.span.start, position)].strip():
            break
        position = tag.span.end
    return position


class _Level(NamedTuple):
    """The blocks that span several chunks, and the unmatched tags, each with its whole span."""

    blocks: tuple[FileBlock, ...]
    loose: tuple[tuple[BlockTag, Span], ...]


@placed_fact
def _level(chunks: ChunkList) -> _Level:
    """Match the tags that certainly belong together; those around a wrong tag remain unmatched."""
    blocks: list[FileBlock] = []
    loose: list[tuple[BlockTag, Span]] = []
    stack: list[list[tuple[BlockTag, Span]]] = []
    for start, chunk in zip(chunks.starts, chunks.chunks, strict=False):
        for tag in chunk_blocks(chunk).loose:
            span = chunk.tags[tag.place].span.shifted(start)
            placed = (tag._replace(span=tag.span.shifted(start)), span)
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
    """Return the blocks of the unmatched tags: closed by a tag further out, or never."""
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
    """Return the blocks that span several chunks, and those that are never closed, in order."""
    found = [*_left_over(source), *_level(source.root).blocks]
    return tuple(sorted(found, key=lambda block: block.tags))


def blocks_around(source: Source, offset: int) -> tuple[FileBlock, ...]:
    """Return the blocks of `blocks_across` that contain `offset` or end there, in order."""
    return tuple(block for block in blocks_across(source) if block.span.contains(offset))


def block_at(source: Source, offset: int) -> FileBlock | None:
    """Return the block with a tag whose keyword is at `offset`."""
    located = source.located(offset)
    inside = offset - located.start
    if not any(tag.span.contains(inside) for tag in block_tags(located.chunk)):
        return None
    near = (block.shifted(located.start) for block in blocks_inside(located.chunk))
    for block in (*near, *blocks_around(source, offset)):
        if any(span.contains(offset) for span in block.keywords):
            return block
    return None


class BlockName(NamedTuple):
    """A `block` or `endblock` tag: its name, which an end tag may lack, and its span in the chunk."""

    opens: bool
    name: str
    span: Span


@chunk_fact
def block_names(chunk: Chunk) -> tuple[BlockName, ...]:
    """Return the `block` and `endblock` tags of the chunk, in order."""
    found = []
    for tag in chunk.tags:
        statement = tag_tree(tag).statement if tag.kind == "statement" and not tag.unclosed else None
        if statement is not None and statement.keyword in {"block", "endblock"}:
            span = statement.name_span if statement.name else statement.keyword_span
            found.append(
                BlockName(statement.keyword == "block", statement.name, span.shifted(tag.span.start))
            )
    return tuple(found)


@chunk_fact
def _filled_blocks(chunk: Chunk) -> tuple[tuple[Span, bool], ...]:
    """Return the names of the `required` blocks that are not empty, which Jinja rejects.

    With each, whether the block is blank up to the end of the chunk but not closed there: then any following
    chunk fills it.
    """
    found = []
    for number, tag in enumerate(chunk.tags):
        statement = tag_tree(tag).statement if tag.kind == "statement" and not tag.unclosed else None
        if statement is None or statement.keyword != "block" or not statement.name:
            continue
        is_required = "required" in tag.text[statement.name_span.end : tag.inner_end].split()
        is_blank = _is_blank(chunk, number) if is_required else True
        if is_blank is not True:
            found.append((statement.name_span.shifted(tag.span.start), is_blank is None))
    return tuple(found)


def _is_blank(chunk: Chunk, number: int) -> bool | None:
    """Return whether there are only white space and comments between a tag and the end of its block.

    None if the chunk ends first.
    """
    for tag, following in pairwise(chunk.tags[number:]):
        if chunk.text[tag.span.end : following.span.start].strip():
            return False
        if following.kind == "statement" and tag_tree(following).statement.keyword == "endblock":
            return True
        if following.kind != "comment" and not (
            following.kind == "raw" and not _text_of(chunk, following).strip()
        ):
            return False
    return False if chunk.text[chunk.tags[-1].span.end :].strip() else None


def _text_of(chunk: Chunk, raw: Tag) -> str:
    return chunk.text[raw.body.start : raw.body.end]


has_blocks: Final = summary(lambda chunk: bool(block_names(chunk)), any)
"""Whether a piece has `block` tags."""


def named_block_problems(source: Source) -> Iterator[SyntaxProblem]:
    """Yield the problems of `block` tags: duplicate names, content in required blocks, wrong end names."""
    if not has_blocks(source.root):
        return
    first: dict[str, Span] = {}
    stack: list[BlockName] = []
    for located in source.root.where(has_blocks):
        for filled, is_open in _filled_blocks(located.chunk):
            if not is_open or located.start + located.chunk.length < len(source):
                message = "a `required` block holds nothing but white space and comments: others fill it"
                yield SyntaxProblem("jinja", filled.shifted(located.start), message)
        for each in block_names(located.chunk):
            span = each.span.shifted(located.start)
            if not each.opens:
                opening = stack.pop() if stack else None
                if opening is not None and opening.name and each.name and opening.name != each.name:
                    related = Related(opening.span, "opened here")
                    message = f"this ends the block `{opening.name}`, not `{each.name}`"
                    yield SyntaxProblem("jinja", span, message, (related,))
                continue
            stack.append(each._replace(span=span))
            if each.name and each.name in first:
                related = Related(first[each.name], "the first one")
                yield SyntaxProblem("jinja", span, f"the block `{each.name}` is there twice", (related,))
            elif each.name:
                first[each.name] = span
