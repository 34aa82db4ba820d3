"""What a tag behind a key, or behind the dash of a list item, could print as its value."""

from __future__ import annotations

from typing import Final

from promptls.syntax.chunk import Chunk
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.tag import Tag
from promptls.text.span import Span

_SILENT: Final = frozenset({"if", "elif", "else", "for", "set", "macro", "with", "import", "from"})
"""The statements that print nothing themselves, and neither do the tags that end a block."""


def may_be_filled(chunk: Chunk, behind: Span) -> bool:
    """Whether a tag behind a key could print its value: one that prints, or one with text behind it."""
    tags = [tag for tag in chunk.tags if behind.start <= tag.span.start < behind.end]
    if any(may_print(tag) for tag in tags if tag.kind != "comment"):
        return True
    starts = [tag.span.end for tag in tags]
    ends = [*(tag.span.start for tag in tags[1:]), behind.end]
    return any(
        line.strip() and not line.lstrip().startswith("#")
        for start, end in zip(starts, ends, strict=False)
        for line in chunk.text[start:end].splitlines()
    )


def may_print(tag: Tag) -> bool:
    """Whether a tag may print something itself."""
    if tag.kind != "statement" or tag.unclosed:
        return True
    keyword = tag_tree(tag).statement.keyword
    return keyword not in _SILENT and not keyword.startswith("end")
