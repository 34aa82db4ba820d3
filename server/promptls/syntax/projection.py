"""The text that a chunk renders to, as far as it is known without data.

Literal text is unchanged, with Jinja's whitespace control applied; a printed expression becomes
a placeholder of the same length; statements and comments are removed, as in Jinja.
The body of a loop appears once. Of an `if`, all branches appear, or only the chosen ones.
Every position in a projection can be mapped back to the chunk.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.jinja.blocks import Pair, chunk_blocks
from promptls.syntax.jinja.scanner import Tag
from promptls.text.positions import Span

PLACEHOLDER: Final = "x"
MOVED: Final = frozenset({"macro", "call", "set", "filter"})
"""Blocks whose body is printed elsewhere, or is changed before it is printed."""
_INCLUDE: Final = re.compile(r"\{%[-+]?\s*include\b")
_MAX_BARE_LINES: Final = 100
_BLOCK_HEADER: Final = re.compile(r"(?:^|[:\-\s])[|>][-+1-9]{0,2}(?:[ \t]+#[^\r\n]*)?\s*$")


@dataclass(frozen=True, slots=True)
class Projection:
    """`text`, consisting of pieces: each begins at `starts[i]` and comes from `origins[i]` in the chunk."""

    text: str
    starts: tuple[int, ...]
    origins: tuple[int, ...]
    ends: tuple[int, ...]

    def origin(self, offset: int) -> int:
        """Return the offset in the chunk of an offset in the projection."""
        index = bisect_right(self.starts, offset) - 1
        if index < 0:
            return 0
        return min(self.origins[index] + offset - self.starts[index], self.ends[index])


class _Skip(NamedTuple):
    until: int
    keyword: str
    whole_block: bool


def branches(pair: Pair) -> list[tuple[int, int]]:
    """Return the branches of an `if` or `for`, each as the indexes of the tags around it."""
    return list(pairwise([pair.opening, *pair.middles, pair.closing]))


def has_else(chunk: Chunk, pair: Pair) -> bool:
    """Return whether one of the branches is always taken."""
    return bool(pair.middles) and "else" in chunk.tags[pair.middles[-1]].text


def project(
    chunk: Chunk, choices: Mapping[int, int] | None = None, *, begins_texts: bool = False
) -> Projection:
    """Return the projection of a chunk.

    `choices` maps the opening tag of an `if` to the index of the branch that is taken; an index
    past the last branch takes none. Without it all branches appear. What a tag prints on a line of
    its own is omitted, as if it printed nothing; with `begins_texts` it is not omitted at the start of
    a block scalar's text, whose indentation matters for the lines below.
    """
    skipped = _skipped(chunk, choices or {})
    pieces: list[str] = []
    starts: list[int] = []
    origins: list[int] = []
    ends: list[int] = []
    length = 0

    def add(text: str, origin: int, end: int) -> None:
        nonlocal length
        if text:
            starts.append(length)
            origins.append(origin)
            ends.append(end)
            pieces.append(text)
            length += len(text)

    position, trim, index = 0, False, 0
    while index <= len(chunk.tags):
        tag = chunk.tags[index] if index < len(chunk.tags) else None
        end = tag.span.start if tag else len(chunk.text)
        literal = chunk.text[position:end]
        if trim:
            literal = literal.lstrip()
        elif index and (
            chunk.tags[index - 1].unclosed
            or _is_left_out(chunk, chunk.tags[index - 1], begins_texts=begins_texts)
        ):
            literal = literal.lstrip(" \t")
        begin = end - len(literal)
        if tag is None:
            add(literal, begin, end)
            break
        if tag.trims_before:
            literal = literal.rstrip()
        add(literal, begin, begin + len(literal))
        skip = skipped.get(index)
        if skip is None:
            printed, place = _printed(chunk, tag, begins_texts=begins_texts)
            add(printed, *place)
            position, trim, index = tag.span.end, tag.trims_after, index + 1
        elif skip.whole_block:
            if skip.keyword == "filter" and not stands_alone(chunk, tag):
                add(PLACEHOLDER, tag.span.start, tag.span.end)
            closing = chunk.tags[skip.until]
            position, trim, index = closing.span.end, closing.trims_after, skip.until + 1
        else:
            position, trim, index = chunk.tags[skip.until].span.start, False, skip.until
    return Projection("".join(pieces), tuple(starts), tuple(origins), tuple(ends))


def _printed(chunk: Chunk, tag: Tag, *, begins_texts: bool) -> tuple[str, Span]:
    """Return the text that a tag is replaced with, and its span in the chunk."""
    if tag.kind == "raw":
        return chunk.slice(tag.body), tag.body
    if tag.kind == "output" and not _is_left_out(chunk, tag, begins_texts=begins_texts):
        return PLACEHOLDER * len(tag.text), tag.span
    if _is_include_ahead(chunk, tag):
        return PLACEHOLDER * len(tag.text), tag.span
    return "", tag.span


def _is_include_ahead(chunk: Chunk, tag: Tag) -> bool:
    """Return whether an include begins the first line of a block scalar, with text after it.

    Otherwise the white space between the two would appear to be the indentation of the block.
    """
    line = bisect_right(chunk.line_starts, tag.span.start) - 1
    start = chunk.line_starts[line]
    return (
        tag.kind == "statement"
        and not chunk.text[start : tag.span.start].strip()
        and _INCLUDE.match(tag.text) is not None
        and not _is_bare(chunk, line)
        and line > 0
        and _BLOCK_HEADER.search(chunk.text[slice(*_line(chunk, line - 1))]) is not None
    )


def _is_left_out(chunk: Chunk, tag: Tag, *, begins_texts: bool) -> bool:
    """Return whether what a tag prints is omitted, and white space after it along with it.

    Otherwise the line of such a tag could appear to be indented more than the lines below it.
    """
    if tag.kind != "output" or not stands_alone(chunk, tag):
        return False
    return not (begins_texts and begins_text(chunk, tag))


def begins_text(chunk: Chunk, tag: Tag) -> bool:
    """Return whether there are only tags between the tag and the header of a block scalar, such as `|`.

    If there are more than `_MAX_BARE_LINES` lines between them, this is not examined.
    """
    line = bisect_right(chunk.line_starts, tag.span.start) - 1
    lowest = max(line - _MAX_BARE_LINES, 0)
    while line > lowest and _is_bare(chunk, line):
        line -= 1
    return (
        not _is_bare(chunk, line) and _BLOCK_HEADER.search(chunk.text[slice(*_line(chunk, line))]) is not None
    )


_NEAR: Final = 40
_LINE_BREAKS: Final = frozenset("\r\n")


def stands_alone(chunk: Chunk, tag: Tag) -> bool:
    """Return whether the tag's lines contain only tags; then it may print anything, or nothing."""
    near = chunk.text[max(tag.span.start - _NEAR, 0) : tag.span.start]
    before = near.rstrip()
    if before and not before.endswith("}") and not _LINE_BREAKS & {*near[len(before) :]}:
        return False  # most tags are after words
    first = bisect_right(chunk.line_starts, tag.span.start) - 1
    last = bisect_right(chunk.line_starts, max(tag.span.start, tag.span.end - 1)) - 1
    return all(_is_bare(chunk, line) for line in range(first, last + 1))


def _line(chunk: Chunk, line: int) -> Span:
    last = line + 1 >= len(chunk.line_starts)
    return Span(chunk.line_starts[line], len(chunk.text) if last else chunk.line_starts[line + 1])


def _is_bare(chunk: Chunk, line: int) -> bool:
    """Return whether a line contains only tags and white space."""
    known = _known_lines(chunk)
    found = known.get(line)
    if found is None:
        position, end = _line(chunk, line)
        found = True
        index = bisect_right(chunk.tags, position, key=_tag_end)
        while found and position < end:
            tag = chunk.tags[index] if index < len(chunk.tags) else None
            until = min(tag.span.start, end) if tag is not None else end
            found = not chunk.text[position:until].strip()
            position = tag.span.end if tag is not None else end
            index += 1
        known[line] = found
    return found


def _tag_end(tag: Tag) -> int:
    return tag.span.end


@chunk_fact
def _known_lines(_chunk: Chunk) -> dict[int, bool]:
    """Return a cache for `_is_bare`, by line."""
    return {}


def _skipped(chunk: Chunk, choices: Mapping[int, int]) -> dict[int, _Skip]:
    """Return the omitted ranges, by the tag at which each begins."""
    skipped: dict[int, _Skip] = {}
    for pair in chunk_blocks(chunk).pairs:
        if pair.keyword in MOVED:
            skipped[pair.opening] = _Skip(pair.closing, pair.keyword, whole_block=True)
        elif pair.keyword == "for" and pair.middles:
            skipped[pair.middles[0]] = _Skip(pair.closing, "else", whole_block=False)
        elif pair.keyword == "if" and pair.opening in choices:
            for index, (begin, end) in enumerate(branches(pair)):
                if index != choices[pair.opening]:
                    skipped[begin] = _Skip(end, "if", whole_block=False)
    return skipped


def span_map(projection: Projection) -> Callable[[int, int], Span]:
    """Return a function that maps spans of the projection to the chunk, without white space at the end."""
    text, origin = projection.text, projection.origin

    def span(start: int, end: int) -> Span:
        if end > start and text[end - 1 : end].isspace():
            end = start + len(text[start:end].rstrip())
        first = origin(start)
        last = origin(end - 1) + 1 if end > 0 else origin(end)
        return Span(first, max(first, last))

    return span


def dynamic_spans(chunk: Chunk) -> Callable[[Span], bool]:
    """Return a function that checks whether a span contains, or an empty span is before, a Jinja tag."""
    tags = [tag.span for tag in chunk.tags if tag.kind not in {"comment", "raw"}]
    starts = [tag.start for tag in tags]

    def is_dynamic(place: Span) -> bool:
        before = bisect_left(starts, place.end)
        if before and tags[before - 1].end > place.start:
            return True
        if not place.is_empty():
            return False
        after = bisect_left(starts, place.start)
        return after < len(tags) and not chunk.text[place.end : starts[after]].strip()

    return is_dynamic
