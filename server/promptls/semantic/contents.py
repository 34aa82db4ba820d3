"""The texts that go to the model: the contents of a chunk's parts and of their sections."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Final

from promptls.semantic.parts import Part, chunk_items
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.jinja.blocks import chunk_blocks
from promptls.syntax.jinja.scanner import Tag
from promptls.syntax.yaml.nodes import Entry, Mapping, Scalar, Sequence, key_text
from promptls.text.positions import Span

_INDICATORS: Final = re.compile(r"[|>](?:[+-]?([1-9])|[1-9]?[+-]?)")
_PROPERTIES: Final = re.compile(r"(?:[&!][^\s\[\]{},]*[ \t]+)*")
"""An anchor and a tag before a value."""
MOVED: Final = frozenset({"macro", "call", "set", "filter"})
"""Blocks whose body is printed elsewhere, or is changed before it is printed."""


@dataclass(frozen=True, slots=True)
class Content:
    """A content; spans count from the start of its chunk.

    `key` is the span of the key `content` and `value` its scalar. `end` is where the next key of
    the part begins, or the chunk ends. `section` is its index among the part's `sections`, and
    `sections` their number; None and 0 for the content of the part itself.
    """

    part: Part
    key: Span
    value: Scalar
    end: int
    section: int | None = None
    sections: int = 0

    @property
    def is_block(self) -> bool:
        """Whether it is a block scalar."""
        return self.value.style in {"|", ">"}

    @property
    def is_chomped(self) -> bool:
        """Whether it is a block scalar without its last line break (`|-`)."""
        return self.is_block and bool(self.value.text) and not self.value.text.endswith("\n")


@chunk_fact
def chunk_contents(chunk: Chunk) -> tuple[Content, ...]:
    """Return the contents in the chunk that are scalars, in order, each key of each branch once.

    Those that cannot be read because of broken YAML are left out.
    """
    found = [
        content
        for part in chunk_items(chunk).parts
        for content in _contents(part, chunk)
        if content.value.tag
    ]
    return tuple(sorted(found, key=lambda content: content.key))


def _contents(part: Part, chunk: Chunk) -> Iterator[Content]:
    keys = sorted(_key_starts(part))
    following = [other.span.start for other in chunk_items(chunk).parts if other.span.start > part.span.start]
    last = min(following, default=len(chunk.text))

    def end(entry: Entry) -> int:
        index = bisect_right(keys, entry.key.span.start)
        return keys[index] if index < len(keys) else last

    for entry in part.entries:
        key, value = key_text(entry), entry.value
        if key == "content" and isinstance(value, Scalar):
            yield Content(part, entry.key.span, value, end(entry))
        elif key == "sections" and isinstance(value, Sequence):
            for number, item in enumerate(value.items):
                for inner in item.entries if isinstance(item, Mapping) else ():
                    if key_text(inner) == "content" and isinstance(inner.value, Scalar):
                        yield Content(part, inner.key.span, inner.value, end(inner), number, len(value.items))


def _key_starts(part: Part) -> Iterator[int]:
    for entry in part.entries:
        yield entry.key.span.start
        if isinstance(entry.value, Sequence):
            for item in entry.value.items:
                if isinstance(item, Mapping):
                    yield from (inner.key.span.start for inner in item.entries)


def column_of(chunk: Chunk, offset: int) -> int:
    """Return the number of characters before `offset` on its line."""
    return offset - chunk.line_starts[bisect_right(chunk.line_starts, offset) - 1]


def tags_outside(chunk: Chunk, span: Span, keywords: Container[str]) -> Iterator[Tag]:
    """Yield the tags that begin in a span, without those inside blocks of these keywords."""
    tags = chunk.tags_at(span)
    pairs = (pair for pair in chunk_blocks(chunk).pairs if pair.keyword in keywords)
    pair = next(pairs, None)
    begin = end = 0
    for tag in tags:
        at = tag.span.start
        while pair is not None and chunk.tags[pair.opening].span.end <= at:
            if chunk.tags[pair.closing].span.start > end:  # and not inside of a block that was passed
                begin, end = chunk.tags[pair.opening].span.end, chunk.tags[pair.closing].span.start
            pair = next(pairs, None)
        if at >= span.start and not begin <= at < end:
            yield tag


def tags_in(chunk: Chunk, content: Content) -> Iterator[Tag]:
    """Yield the tags in a content, without those in blocks that are not printed there.

    A tag on a line that is not indented further than the content's key is after a block scalar.
    """
    least = column_of(chunk, content.key.start)
    for tag in tags_outside(chunk, Span(content.value.span.start, content.end), MOVED):
        after = tag.span.start >= content.value.span.end
        if content.is_block or not content.value.span.is_empty():
            if after and not (content.is_block and _line_indent(chunk, tag.span.start) > least):
                continue
        elif after and chunk.text[content.value.span.end : tag.span.start].strip(" \t"):
            continue
        yield tag


def _line_indent(chunk: Chunk, offset: int) -> int:
    start = offset - column_of(chunk, offset)
    line = chunk.text[start:offset]
    return len(line) - len(line.lstrip(" "))


def written_span(chunk: Chunk, value: Scalar) -> Span:
    """Return the span of a value without its anchor and its tag."""
    return Span(written_at(chunk, value), value.span.end)


def written_at(chunk: Chunk, value: Scalar) -> int:
    """Return where a value begins, after its anchor and its tag."""
    properties = _PROPERTIES.match(chunk.text, value.span.start)
    return value.span.start if properties is None else min(properties.end(), value.span.end)


def block_indent(chunk: Chunk, content: Content) -> int | None:
    """Return the indentation of the lines of a block scalar, or None if it has no text."""
    header = _INDICATORS.match(chunk.text, written_at(chunk, content.value))
    if header and header.group(1):
        return column_of(chunk, content.key.start) + int(header.group(1))
    first = bisect_right(chunk.line_starts, content.value.span.start)
    statements = {tag.span.start for tag in chunk.tags if tag.kind in {"statement", "comment"}}
    for start in chunk.line_starts[first:]:
        if start >= content.end:
            return None
        indent = _spaces(chunk.text, start)
        at = start + indent
        if at in statements or chunk.text[at : at + 1] in {"", "\n", "\r"}:
            continue
        return indent if indent > column_of(chunk, content.key.start) else None
    return None


def _spaces(text: str, start: int) -> int:
    end = start
    while text[end : end + 1] == " ":
        end += 1
    return end - start
