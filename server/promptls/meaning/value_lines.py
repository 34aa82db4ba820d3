"""How far the lines of a value reach in a chunk, whatever Jinja makes of them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from promptls.syntax.chunk import Chunk
from promptls.syntax.jinja.tag import Tag
from promptls.syntax.yaml.nodes import Entry, Mapping, Node, Scalar, Sequence
from promptls.text.lines import line_end


def value_end(chunk: Chunk, entry: Entry) -> int:
    """The start of the line behind an entry.

    Lines under a block scalar that are indented as its text belong to it, whatever Jinja makes of them.
    """
    key, value = entry.key.span, entry.value
    end = position = next_line(chunk.text, max(key.end, value.span.end))
    if not isinstance(value, Scalar) or value.style not in {"|", ">"}:
        return end
    column = key.start - line_start(chunk, key.start)
    while position < len(chunk.text):
        line = chunk.text[position : line_end(chunk.text, position)]
        indented = len(line) - len(line.lstrip(" "))
        if line.strip() and indented <= column:
            break
        first = bisect_left(chunk.tags, position, key=_tag_start)
        behind = bisect_left(chunk.tags, position + len(line), lo=first, key=_tag_start)
        position = next_line(chunk.text, chunk.tags[behind - 1].span.end if behind > first else position)
        if line.strip():
            end = position
    return end


def _tag_start(tag: Tag) -> int:
    return tag.span.start


def next_line(text: str, offset: int) -> int:
    """The start of the line behind the one that holds `offset`, or the end of the text."""
    end = line_end(text, offset)
    return end + (2 if text[end : end + 2] == "\r\n" else 1) if end < len(text) else end


def line_start(chunk: Chunk, offset: int) -> int:
    """The start of the line that a key stands on."""
    return max(chunk.text.rfind("\n", 0, offset), chunk.text.rfind("\r", 0, offset)) + 1


def written_end(chunk: Chunk, entries: Iterable[Entry]) -> int:
    """The end of the last text of some entries, with the lines that only tags stand on.

    YAML's own end of a block scalar lies ahead of them where nothing but values is printed there.
    """
    return max((_end(chunk, entry) for entry in entries), default=0)


def _end(chunk: Chunk, entry: Entry) -> int:
    start, end = entry.key.span.end, max(entry.key.span.end, entry.value.span.end)
    last = _last_entry(entry)
    if isinstance(last.value, Scalar) and last.value.style in {"|", ">"}:
        end = max(end, value_end(chunk, last))
    return start + len(chunk.text[start:end].rstrip())


def _last_entry(entry: Entry) -> Entry:
    """The entry inside of an entry that its text ends with, or the entry itself."""
    while True:
        node: Node = entry.value
        if isinstance(node, Sequence) and node.items:
            node = node.items[-1]
        if not isinstance(node, Mapping) or not node.entries:
            return entry
        last = max(node.entries, key=lambda each: each.key.span.start)
        if last.key.span.start <= entry.key.span.start:
            return entry  # an alias stands where its anchor does
        entry = last
