"""The edit that takes a tag out, or a block with its body, and the lines that hold nothing else."""

from __future__ import annotations

from bisect import bisect_right

from promptls.rules.rule import Edit
from promptls.syntax.chunk import Chunk
from promptls.syntax.group import Located
from promptls.syntax.jinja.blocks import chunk_blocks
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.tag import Tag
from promptls.text.lines import line_end, place_of
from promptls.text.span import Span


def tag_at(chunk: Chunk, offset: int) -> int | None:
    """The number of the chunk's tag that holds `offset`, or None."""
    number = bisect_right(chunk.tags, offset, key=lambda tag: tag.span.start) - 1
    return number if number >= 0 and offset < chunk.tags[number].span.end else None


def removed_tag(located: Located, offset: int) -> Edit | None:
    """An edit that takes out the tag at `offset`, counted from the chunk's start, with the block it opens.

    None where there is no tag, and where its block does not end in its chunk.
    """
    span = block_span(located.chunk, offset)
    return Edit(whole_lines(located.chunk, span).shifted(located.start), "") if span is not None else None


def block_span(chunk: Chunk, offset: int) -> Span | None:
    """The span of the tag at `offset`, with the block that it opens; None where that ends in no tag of the chunk."""
    number = tag_at(chunk, offset)
    if number is None:
        return None
    tag = chunk.tags[number]
    end = tag.span.end
    if _opens_block(tag):
        closing = next((pair.closing for pair in chunk_blocks(chunk).pairs if pair.opening == number), None)
        if closing is None:
            return None
        end = chunk.tags[closing].span.end
    return Span(tag.span.start, end)


def _opens_block(tag: Tag) -> bool:
    return tag.kind == "statement" and tag_tree(tag).statement.opens_block


def whole_lines(chunk: Chunk, span: Span) -> Span:
    """The span, with its line break where nothing else stands on its lines."""
    first = chunk.line_starts[place_of(chunk.line_starts, span.start).line]
    end = line_end(chunk.text, span.end)
    if chunk.text[first : span.start].strip() or chunk.text[span.end : end].strip():
        return span
    behind = place_of(chunk.line_starts, span.end).line + 1
    return Span(first, chunk.line_starts[behind] if behind < len(chunk.line_starts) else len(chunk.text))
