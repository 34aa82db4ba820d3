"""The YAML of a chunk in which somebody types inside the text of a block scalar.

Most keystrokes put a letter into a line of a `|` block. They change that scalar's text and move
what stands behind; nothing that libyaml decides can change, so it is not asked again. Whatever
is not certainly of this kind is read anew.
"""

from __future__ import annotations

from typing import NamedTuple

from promptls.syntax.chunk import Chunk
from promptls.syntax.projection import PLACEHOLDER
from promptls.syntax.yaml.nodes import Entry, Mapping, Node, Scalar, Sequence, key_text
from promptls.text.span import Span

_BREAKS = ("\n", "\r", "\x85", "\u2028", "\u2029", "\ufeff")


class _Typed(NamedTuple):
    """An edit in one line of text: what it replaced, how the chunk grew, and the line before and after."""

    span: Span
    growth: int
    before: str
    after: str


class Retyped(NamedTuple):
    """The trees of a chunk, and the key of the mapping whose text is all that is new in them."""

    roots: tuple[Node, ...]
    key: str | None


def retyped(chunk: Chunk, roots: tuple[Node, ...]) -> Retyped | None:
    """The trees of a chunk, by those of the chunk that it was; None where they must be read anew."""
    typed = _typed(chunk)
    if typed is None:
        return None
    made = []
    keys: set[str | None] = set()
    for root in roots:
        found = _block_at(root, typed.span, None)
        if found is None or not _is_inside(chunk, found[0], typed):
            return None
        block, key = found
        text = _text(block, typed)
        if text is None:
            return None
        keys.add(key)
        made.append(_moved(root, block, text, typed))
    return Retyped(tuple(made), keys.pop() if len(keys) == 1 else None)


def _typed(chunk: Chunk) -> _Typed | None:
    """The edit that made the chunk, where it stands in a line that begins with text and ends with it."""
    if chunk.before is None:
        return None
    old, span, growth = chunk.before
    inserted = chunk.text[span.start : span.end + growth]
    if not inserted.isprintable() or any(mark in old.text[span.start : span.end] for mark in _BREAKS):
        return None
    begin = old.text.rfind("\n", 0, span.start) + 1
    end = old.text.find("\n", span.end)
    if end < 0:
        return None
    first = begin + len(old.text[begin:end]) - len(old.text[begin:end].lstrip(" "))
    before, after = _projected(old, begin, first, end), _projected(chunk, begin, first, end + growth)
    if first >= span.start or before is None or after is None:
        return None
    if not (before + after).isprintable() or after.endswith(" ") or before.endswith(" "):
        return None
    return _Typed(span, growth, before, after)


def _projected(chunk: Chunk, begin: int, first: int, end: int) -> str | None:
    """A line from `first` on, as `project` gives it; None where it has tags that print no value."""
    line = chunk.text[first:end]
    for tag in chunk.tags:
        if tag.span.end <= begin or tag.span.start >= end:
            continue
        is_plain = tag.kind == "output" and not (tag.unclosed or tag.trims_before or tag.trims_after)
        if not is_plain or tag.span.start <= first or tag.span.end > end:
            return None
        printed = PLACEHOLDER * len(tag.text)
        line = line[: tag.span.start - first] + printed + line[tag.span.end - first :]
    return line


def _block_at(node: Node, span: Span, key: str | None) -> tuple[Scalar, str | None] | None:
    """The block scalar that holds the span, and its key; `key` is that of the node."""
    if not (node.span.start < span.start and span.end <= node.span.end):
        return None
    if isinstance(node, Scalar):
        return (node, key) if node.style == "|" else None
    if isinstance(node, Sequence):
        found = (_block_at(item, span, None) for item in node.items)
    else:
        found = (_block_at(entry.value, span, key_text(entry)) for entry in node.entries)
    return next((each for each in found if each is not None), None)


def _is_inside(chunk: Chunk, block: Scalar, typed: _Typed) -> bool:
    """Whether the line is one behind the block's first line of text, which decides its indentation."""
    head = chunk.text.find("\n", block.span.start)
    first = chunk.text.find("\n", head + 1) if head >= 0 else -1
    return 0 <= first < typed.span.start and bool(chunk.text[head + 1 : first].strip(" "))


def _text(block: Scalar, typed: _Typed) -> str | None:
    """The block's text after the edit; None where the line cannot be told from others."""
    lines = block.text.split("\n")
    same = [number for number, line in enumerate(lines) if line.lstrip(" ") == typed.before]
    if len(same) != 1:
        return None
    line = lines[same[0]]
    lines[same[0]] = line[: len(line) - len(typed.before)] + typed.after
    return "\n".join(lines)


def _moved(node: Node, block: Scalar, text: str, typed: _Typed) -> Node:
    span = node.span
    if span.start > typed.span.start:
        span = span.shifted(typed.growth)
    elif span.start <= block.span.start and span.end >= block.span.end:
        span = Span(span.start, span.end + typed.growth)
    elif span.end < typed.span.start:
        return node
    if isinstance(node, Scalar):
        return Scalar(span, text if node is block else node.text, node.style, node.tag, node.dynamic)
    if isinstance(node, Sequence):
        return Sequence(span, tuple([_moved(item, block, text, typed) for item in node.items]))
    entries = [
        Entry(_moved(entry.key, block, text, typed), _moved(entry.value, block, text, typed))
        for entry in node.entries
    ]
    return Mapping(span, tuple(entries))
