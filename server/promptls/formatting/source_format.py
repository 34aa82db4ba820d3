"""The edits that bring a text into the one layout, chunk by chunk."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from promptls.formatting.frame import REUSED, applied, frame_edits, last_frame_edits, runs_on
from promptls.formatting.tag_style import styled
from promptls.rules.rule import Edit
from promptls.syntax.chunk import Chunk, kept
from promptls.syntax.jinja.blocks import chunk_blocks
from promptls.syntax.source import Source
from promptls.text.span import Span

_KEEPING: Final = re.compile(r"[|>]\d?\+\d?[ \t]*(?:#[^\r\n]*)?(?=[\r\n]|\Z)")


def format_edits(source: Source, *, frame: bool, within: Span | None = None) -> tuple[Edit, ...]:
    """The edits that lay out the text, in the order of their places; what it renders to stays the same.

    With `frame` the YAML around the texts is laid out too, which only a prompt file's may be.
    Of the chunks that reach into `within` only edits inside it are given.
    """
    if not source.has_jinja:
        return ()  # JSON has formatters of its own
    found: list[Edit] = []
    frame = frame and not any(_keeps_line_ends(chunk) for chunk in source.chunks)
    chunks = zip(source.starts, source.chunks, _is_unsure(source), strict=False)
    last = len(source.chunks) - 1
    for index, (start, chunk, is_unsure) in enumerate(chunks):
        if within is not None and (start > within.end or start + len(chunk.text) < within.start):
            continue
        here = Span(0, len(chunk.text)) if within is None else within.shifted(-start)
        edits = [edit for edit in tag_edits(chunk) if _lies_in(edit.span, here)]
        if frame and not is_unsure:
            layout = last_frame_edits(chunk) if index == last else frame_edits(chunk)
            edits += [edit for edit in layout.single if _lies_in(edit.span, here)]
            if all(_lies_in(edit.span, here) for edit in layout.together):
                edits += layout.together
        found += [Edit(edit.span.shifted(start), edit.text) for edit in edits]
    found += _final_line_end(source, within)
    return tuple(sorted(found, key=lambda edit: edit.span))


@kept
def _keeps_line_ends(chunk: Chunk) -> bool:
    """Whether the line ends behind a scalar may be part of it, also those behind a block that is left out."""
    return bool(_KEEPING.search(chunk.text))


def formatted(text: str, *, frame: bool) -> str:
    """The text in the one layout."""
    return applied(text, format_edits(Source.of(text), frame=frame))


def _lies_in(span: Span, around: Span) -> bool:
    return around.start <= span.start and span.end <= around.end


@kept
def tag_edits(chunk: Chunk) -> tuple[Edit, ...]:
    """The edits of the white space inside the chunk's tags; spans count from the chunk's start."""
    return tuple(edit for tag in chunk.tags for edit in changes(tag.text, styled(tag), tag.span.start))


def changes(before: str, after: str, start: int) -> Iterator[Edit]:
    """The edits between two texts that differ in nothing but white space, each as small as can be."""
    first = second = 0
    while first < len(before) or second < len(after):
        if before[first : first + 1] == after[second : second + 1]:
            first, second = first + 1, second + 1
            continue
        ends = [_space_end(before, first), _space_end(after, second)]
        yield Edit(Span(start + first, start + ends[0]), after[second : ends[1]])
        first, second = ends


def _space_end(text: str, start: int) -> int:
    end = start
    while end < len(text) and text[end].isspace():
        end += 1
    return end


def _is_unsure(source: Source) -> list[bool]:
    """For each chunk, whether its text may be used as something else than the frame that it looks like.

    A block of another chunk that uses its text may be open around it, or a tag ahead of it may
    put it at the end of the text of the chunk before.
    """
    found = []
    previous: Chunk | None = None
    open_blocks: list[str] = []
    for chunk in source.chunks:
        loose = chunk_blocks(chunk).loose
        found.append(
            (previous is not None and runs_on(previous))
            or any(keyword in REUSED for keyword in open_blocks)
            or any(tag.keyword in REUSED for tag in loose)
        )
        previous = chunk
        for tag in loose:
            if tag.action == "open":
                open_blocks.append(tag.keyword)
            elif tag.action == "close" and tag.keyword in open_blocks:
                while open_blocks.pop() != tag.keyword:
                    pass
    return found


def _final_line_end(source: Source, within: Span | None) -> tuple[Edit, ...]:
    """A line end behind the last line: Jinja takes one away, so that nothing of it is rendered."""
    end = len(source)
    last = source.chunks[-1]
    if not last.text or last.text.endswith(("\n", "\r")) or (within is not None and within.end < end):
        return ()
    if any(tag.unclosed for tag in last.tags):
        return ()
    return (Edit(Span(end, end), "\r\n" if "\r\n" in source.chunks[0].text else "\n"),)
