"""How the tags of a chunk use values: which are printed, iterated over, called, asked for a key.

Each use names its value by a path from a variable: `m.author` in `{% for m in history %}` is a
use of `m` with the step `author`, and `m` stands for `history` with the step `ELEMENT`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from promptls.meaning.tag_reader import TagReader
from promptls.meaning.use import Event, TagUses, Use
from promptls.syntax.chunk import Chunk, kept
from promptls.syntax.jinja.statements import parse_tag


def unplaced_events(chunk: Chunk) -> Iterator[Event]:
    """What the chunk's tags use and bind, in order; spans count from the start of each tag."""
    for tag in chunk.tags:
        if tag.kind in {"output", "statement"}:
            yield from _events(tag.text, tag.inner_start, tag.inner_end)


@kept
def chunk_uses(chunk: Chunk) -> tuple[TagUses, ...]:
    """What the chunk's tags use and bind, tag by tag; spans count from the chunk's start."""
    return tuple(
        TagUses(
            *tag.span,
            tuple(
                _placed(event, tag.span.start) for event in _events(tag.text, tag.inner_start, tag.inner_end)
            ),
        )
        for tag in chunk.tags
        if tag.kind in {"output", "statement"}
    )


@lru_cache(maxsize=4096)
def _events(text: str, inner_start: int, inner_end: int) -> tuple[Event, ...]:
    """What a tag uses and binds, kept by the tag's text as its tree is."""
    return tuple(TagReader(text).statement(parse_tag(text, inner_start, inner_end).statement))


def _placed(event: Event, start: int) -> Event:
    if not isinstance(event, Use):
        return event
    compared = tuple([each._replace(span=each.span.shifted(start)) for each in event.compared])
    return event._replace(span=event.span.shifted(start), compared=compared)
