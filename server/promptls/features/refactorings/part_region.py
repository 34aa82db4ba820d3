"""The lines that a part stands on, with everything that belongs to it."""

from __future__ import annotations

from typing import NamedTuple

from promptls.meaning.parts import Part, chunk_items
from promptls.meaning.value_lines import next_line, value_end
from promptls.syntax.chunk import Chunk
from promptls.syntax.jinja.blocks import chunk_blocks
from promptls.text.span import Span


class PartRegion(NamedTuple):
    """One part of a chunk: its lines, counted from the chunk's start, and the part."""

    span: Span
    part: Part


def part_region(chunk: Chunk) -> PartRegion | None:
    """The region of the chunk's only part.

    It ends with a line, and holds every block whole that begins in it; None where it cannot.
    """
    items = chunk_items(chunk)
    if len(items.parts) != 1 or items.others or not chunk.text.startswith("-"):
        return None
    part = items.parts[0]
    end = max(value_end(chunk, entry) for entry in part.entries)
    grown = True
    while grown:
        grown = False
        for pair in chunk_blocks(chunk).pairs:
            closing = chunk.tags[pair.closing].span.end
            if chunk.tags[pair.opening].span.start < end < closing:
                end, grown = next_line(chunk.text, closing), True
    if any(chunk.tags[tag.place].span.start < end for tag in chunk_blocks(chunk).loose):
        return None
    if any(tag.span.start < end < tag.span.end for tag in chunk.tags):
        return None
    return PartRegion(Span(0, end), part)
