"""Limits of analysis: texts that are larger, or nested deeper, than any prompt that works are refused.

Analysis may take more than linear time in these sizes, and blocks the server while it runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from promptls.syntax.chunk import Chunk
from promptls.syntax.chunk_list import ChunkList, Piece
from promptls.syntax.facts import summary
from promptls.syntax.jinja.blocks import block_tags
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.scanner import Tag
from promptls.text.positions import Span, line_end

MAX_CHARACTERS: Final = 2_000_000
"""About 60,000 lines. Opening such a file takes seconds."""
MAX_UNCLOSED_TAGS: Final = 200
MAX_OPEN_BLOCKS: Final = 100
"""How many blocks may be open at the same time. Python cannot compile templates with deeper nesting."""

MAX_REFERENCES: Final = 200
"""How many tags may name other templates; each name is resolved through the variables of the file."""


class Refusal(NamedTuple):
    """Why a text is not analysed, and the position to report it at."""

    span: Span
    message: str


def refusal_of(root: ChunkList) -> Refusal | None:
    """Return why the text of these chunks is not analysed, or None if it is."""
    if root.length > MAX_CHARACTERS:
        first = next(root.placed()).chunk
        message = f"the file has {root.length:,} characters, and files are analysed up to {MAX_CHARACTERS:,}"
        return Refusal(Span(0, line_end(first.text, 0)), message)
    if _unclosed(root) > MAX_UNCLOSED_TAGS:
        message = f"more than {MAX_UNCLOSED_TAGS} tags are not closed, from this one on"
        return Refusal(_first(root, _unclosed, _is_unclosed), f"{message}: the file is not analysed")
    if _nesting(root).rise > MAX_OPEN_BLOCKS:
        message = f"more than {MAX_OPEN_BLOCKS} blocks are open here"
        return Refusal(_too_deep(root), f"{message}: the file is not analysed")
    if _references(root) > MAX_REFERENCES:
        message = f"more than {MAX_REFERENCES} tags name other templates, from this one on"
        return Refusal(_first(root, _references, _is_reference), f"{message}: the file is not analysed")
    return None


class _Nesting(NamedTuple):
    """How the number of open blocks changes in a piece.

    `total` is the change from its start to its end, `lowest` and `highest` are the extremes in between, and
    `rise` is the largest increase from one position to a later one.
    """

    total: int
    lowest: int
    highest: int
    rise: int


def _nesting_of(chunk: Chunk) -> _Nesting:
    total = lowest = highest = rise = 0
    for tag in block_tags(chunk):
        total += _STEPS.get(tag.action, 0)
        lowest, highest = min(lowest, total), max(highest, total)
        rise = max(rise, total - lowest)
    return _Nesting(total, lowest, highest, rise)


def _joined(pieces: list[_Nesting]) -> _Nesting:
    total = lowest = highest = rise = 0
    for piece in pieces:
        rise = max(rise, piece.rise, total + piece.highest - lowest)
        lowest, highest = min(lowest, total + piece.lowest), max(highest, total + piece.highest)
        total += piece.total
    return _Nesting(total, lowest, highest, rise)


_STEPS: Final = {"open": 1, "close": -1}
_nesting: Final = summary(_nesting_of, _joined)


def _is_unclosed(tag: Tag) -> bool:
    return bool(tag.unclosed)


def _is_reference(tag: Tag) -> bool:
    return tag.kind == "statement" and tag_tree(tag).statement.keyword in _NAMING


def _sum(numbers: list[int]) -> int:
    return sum(numbers)


_NAMING: Final = frozenset({"include", "import", "from", "extends"})
_unclosed: Final[Callable[[Piece], int]] = summary(lambda chunk: sum(map(_is_unclosed, chunk.tags)), _sum)
_references: Final[Callable[[Piece], int]] = summary(lambda chunk: sum(map(_is_reference, chunk.tags)), _sum)


def _first(root: ChunkList, number: Callable[[Piece], int], is_one: Callable[[Tag], bool]) -> Span:
    """Return the first of the tags that `number` counts."""
    located = next(iter(root.where(number)))
    tag = next(filter(is_one, located.chunk.tags))
    return tag.span.shifted(located.start)


def _too_deep(root: ChunkList) -> Span:
    """Return the tag that exceeds the nesting limit."""
    total = lowest = 0
    for located in root.placed():
        for tag in block_tags(located.chunk):
            total += _STEPS.get(tag.action, 0)
            lowest = min(lowest, total)
            if total - lowest > MAX_OPEN_BLOCKS:
                return tag.span.shifted(located.start)
    raise AssertionError("no block is open so deep")
