"""Blocks whose opening or end is a misspelt tag."""

from __future__ import annotations

from collections.abc import Container
from typing import Final

from promptls.syntax.chunk import Chunk, kept
from promptls.syntax.jinja.keywords import KEYWORDS
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.slip_words import meant_tag
from promptls.syntax.source import Source
from promptls.text.span import Span

_MOST_CHUNKS: Final = 8
"""How many chunks are looked through for the tag that a block lacks; such tags stand close to it."""


def misspelt_opening(
    source: Source, keywords: Container[str], end: int, behind: int, taken: Container[int]
) -> int | None:
    """Where the unknown tag begins that is the misspelt opening of a block with one of the `keywords`.

    It stands a little ahead of the offset `end`, not ahead of `behind`, and is none of the `taken`.
    """
    offset = end
    for _ in range(_MOST_CHUNKS):
        located = source.located(offset)
        found = [
            located.start + place
            for place, word in _unknown(located.chunk)
            if behind <= located.start + place < end
            and located.start + place not in taken
            and meant_tag(word) in keywords
        ]
        if found:
            return found[-1]
        if located.start <= behind:
            return None
        offset = located.start - 1
    return None


def lacks_end(source: Source, keyword: str, opening: Span, before: int | None = None) -> bool:
    """Whether an unknown tag a little behind a block's opening, `before` an offset, is its misspelt end."""
    offset = opening.start
    for _ in range(_MOST_CHUNKS):
        located = source.located(offset)
        behind = opening.start - located.start
        for place, word in _unknown(located.chunk):
            if before is not None and located.start + place >= before:
                return False
            if place > behind and (word == "end" or meant_tag(word) == f"end{keyword}"):
                return True
        offset = located.start + len(located.chunk.text)
        if offset >= len(source):
            return False
    return False


@kept
def _unknown(chunk: Chunk) -> tuple[tuple[int, str], ...]:
    """The tags of a chunk with words that are no tags of Jinja: where each begins, and its word."""
    found = []
    for tag in chunk.tags:
        if tag.kind == "statement" and not tag.unclosed:
            keyword = tag_tree(tag).statement.keyword
            if keyword and keyword not in KEYWORDS:
                found.append((tag.span.start, keyword))
    return tuple(found)
