"""A chunk that is a whole text, after an edit: only the tags at the edit are looked for again."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from typing import Final

from promptls.syntax.chunk import Chunk
from promptls.syntax.jinja.scan import items_pattern, next_tag
from promptls.syntax.jinja.tag import Tag
from promptls.text.span import Span

_LINE: Final = re.compile(r"^[A-Za-z_\"'][^\r\n]*\n", re.MULTILINE)
"""A line that certainly is more than a comment or a part of a tag, and no list item."""

_DEFINES: Final = re.compile(r"macro|set[^=]*\Z")
"""What may begin a block whose text is printed elsewhere, and so says nothing of the list."""


def says_no_list(chunk: Chunk, offset: int) -> bool:
    """Whether the text ahead of an offset alone says that the YAML under the Jinja is no list.

    Then a line with content stands there, ahead of every line that could begin an item.
    """
    position = 0
    line = None
    for tag in chunk.tags:
        if tag.unclosed or tag.span.start >= offset:
            break
        if tag.kind == "statement" and _DEFINES.search(tag.text):
            return False
        line = _LINE.search(chunk.text, position, tag.span.start)
        if line is not None:
            break
        position = tag.span.end
    if line is None and position < offset:
        until = next((tag.span.start for tag in chunk.tags if tag.span.start >= position), chunk.length)
        line = _LINE.search(chunk.text, position, min(until, offset))
    if line is None or line.end() > offset:
        return False
    return not chunk.text.startswith("-") and not items_pattern(chunk.text).search(
        chunk.text, 0, line.start()
    )


def rescanned(chunk: Chunk, span: Span, text: str) -> Chunk | None:
    """The chunk with `span` replaced by `text`; None where a tag may depend on what stands behind it."""
    if chunk.is_reaching or any(tag.unclosed for tag in chunk.tags):
        return None
    whole = chunk.text[: span.start] + text + chunk.text[span.end :]
    growth = len(text) - (span.end - span.start)
    kept = bisect_right(chunk.tags, span.start, key=_end)
    tags = list(chunk.tags[:kept])
    position = tags[-1].span.end if tags else 0
    following = bisect_left(chunk.tags, span.end, key=_start)
    starts = {tag.span.start + growth: number for number, tag in enumerate(chunk.tags[following:], following)}
    while (found := next_tag(whole, position)) is not None:
        tag, is_sure = found
        if tag.span.start in starts:
            tags += [each.shifted(growth) for each in chunk.tags[starts[tag.span.start] :]]
            break
        if not is_sure or tag.unclosed:
            return None
        tags.append(tag)
        position = tag.span.end
    return Chunk(whole, tuple(tags), reach=0, lines=_line_starts(chunk, span, text))


def _start(tag: Tag) -> int:
    return tag.span.start


def _end(tag: Tag) -> int:
    return tag.span.end


def _line_starts(chunk: Chunk, span: Span, text: str) -> list[int] | None:
    """Where the lines begin after the edit; None where line ends of two characters may break or join."""
    if "\r" in chunk.text or "\r" in text:
        return None
    before = chunk.line_starts
    growth = len(text) - (span.end - span.start)
    typed = [span.start + offset + 1 for offset, letter in enumerate(text) if letter == "\n"]
    behind = before[bisect_right(before, span.end) :]
    return [*before[: bisect_right(before, span.start)], *typed, *[start + growth for start in behind]]
