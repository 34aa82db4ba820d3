"""The lines between the keys of a frame that print nothing but line breaks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from promptls.rules.rule import Edit
from promptls.syntax.chunk import Chunk
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.tag import Tag
from promptls.text.span import Span

_PRINTING: Final = frozenset({"include", "extends", "call", "filter", "print", "block", "macro", "", "set"})
"""Statements that print, or whose body is text; `set` is looked at more closely."""
_SPACE: Final = re.compile(r"\s*")
_LINE: Final = re.compile(r"([^\r\n]*)(\r\n|\n|\r|\Z)")
_COMMENT_LINE: Final = re.compile(r"[ ]*#[^\r\n]*")


def is_blank(text: str, start: int, end: int) -> bool:
    """Whether nothing but white space stands between two places; looks no further than to the first text."""
    found = _SPACE.match(text, start, max(start, end))
    return found is not None and found.end() >= end


def is_silent(chunk: Chunk, gap: Span, column: int) -> bool:
    """Whether every line of the gap prints no more than `column` spaces, or is a comment of YAML.

    Such lines are outside of every scalar, whatever the data is: the text of a scalar is
    indented by more than the key in front of it.
    """
    tags = [tag for tag in chunk.tags if gap.start < tag.span.end and tag.span.start < gap.end]
    if _is_glued(chunk, gap) or any(
        _prints(tag) or not gap.start <= tag.span.start < tag.span.end <= gap.end for tag in tags
    ):
        return False
    pieces = []
    position = gap.start
    for tag in tags:
        # A tag over several lines leaves them out of what is rendered.
        pieces += [chunk.text[position : tag.span.start], "\0"]
        position = tag.span.end
    text = "".join([*pieces, chunk.text[position : gap.end]])
    return all(_is_silent_line(line, column) for line in text.splitlines())


def _is_glued(chunk: Chunk, gap: Span) -> bool:
    """Whether a tag ahead of the gap trims into it, so that the text before the tag goes on in it."""
    before = [tag for tag in chunk.tags if tag.span.end <= gap.start]
    if not before or not before[-1].trims_after:
        return False
    return is_blank(chunk.text, before[-1].span.end, gap.start)


def _is_silent_line(line: str, column: int) -> bool:
    rendered = line.replace("\0", "")
    if not rendered.strip(" \t"):
        return len(rendered) <= column
    return (
        bool(_COMMENT_LINE.fullmatch(line)) and "\0" not in line and len(line) - len(line.lstrip()) <= column
    )


def _prints(tag: Tag) -> bool:
    if tag.unclosed or tag.kind in {"output", "raw"}:
        return True
    if tag.kind == "comment":
        return False
    statement = tag_tree(tag).statement
    keyword = statement.keyword.removeprefix("end")
    if keyword == "set" and not statement.opens_block and statement.keyword == "set":
        return False
    return keyword in _PRINTING


def gap_edits(chunk: Chunk, gap: Span, *, is_last: bool) -> Iterator[Edit]:
    """No white space on blank lines and behind comments, and one blank line in place of several.

    What stands behind a tag stays: where the tag's block is left out, it may end the text before it.

    With `is_last` the blank lines at the end stay: they show where another file includes this one.
    """
    waiting = [tag.span for tag in reversed(chunk.tags) if gap.start <= tag.span.start < gap.end]
    kept_until = gap.end
    if is_last:
        kept_until = gap.start + len(chunk.text[gap.start : gap.end].rstrip())
    blank_before = 0
    for match in _LINE.finditer(chunk.text, gap.start, gap.end):
        start, end = match.span(1)
        if match.start() >= kept_until or match.start() == gap.end:
            return
        while waiting and waiting[-1].end <= start:
            waiting.pop()
        if waiting and waiting[-1].start < end:
            blank_before = 0
            continue
        written = match.group(1).rstrip(" \t")
        if written:
            blank_before = 0
        else:
            blank_before += 1
            if blank_before > 1 and match.group(2):
                yield Edit(Span(match.start(), match.end()), "")
                continue
        if len(written) < len(match.group(1)):
            yield Edit(Span(start + len(written), end), "")
