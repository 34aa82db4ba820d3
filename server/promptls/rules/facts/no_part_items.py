"""Items of the list of parts that are no mappings, and so no parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from promptls.meaning.parts import chunk_items
from promptls.rules.facts.filled_behind import may_be_filled
from promptls.rules.rule import Finding
from promptls.syntax.chunk import Chunk
from promptls.syntax.yaml.nodes import Node, Scalar
from promptls.systems.prompt_poet.vocabulary import PART_KEYS
from promptls.text.lines import line_end
from promptls.text.span import Span

_MESSAGE: Final = "a part is a mapping with `name` and `content`"


def no_part_items(chunk: Chunk) -> Iterator[Finding]:
    """The items of the chunk that Prompt Poet cannot make a part of."""
    if any(tag.unclosed for tag in chunk.tags):
        return  # what a comment or a tag that is not closed would hold looks like text
    told: set[Span] = set()
    for item in chunk_items(chunk).others:
        place = item_place(chunk, item)
        if place in told or _may_be_part(chunk, item):
            continue
        told.add(place)
        yield Finding(place, f"{_MESSAGE}; nothing stands here" if item.span.is_empty() else _MESSAGE)


def item_place(chunk: Chunk, item: Node) -> Span:
    """The first line of a list's item; of an empty one, its dash."""
    if not item.span.is_empty():
        first = chunk.text[item.span.start : min(item.span.end, line_end(chunk.text, item.span.start))]
        return Span(item.span.start, item.span.start + len(first.rstrip()))
    dash = chunk.text.rfind("-", 0, item.span.start)
    return Span(dash, dash + 1)


def _may_be_part(chunk: Chunk, item: Node) -> bool:
    """Whether the item may be a part: one that Jinja prints, or one whose first key is being written."""
    if not isinstance(item, Scalar):
        return False
    if item.span.is_empty():
        return may_be_filled(chunk, Span(item.span.start, chunk.length))
    if item.style:
        return False
    return item.dynamic or any(key.startswith(item.text) for key in PART_KEYS)
