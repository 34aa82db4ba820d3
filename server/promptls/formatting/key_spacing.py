"""The white space between keys and values, and behind them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from promptls.rules.rule import Edit
from promptls.syntax.chunk import Chunk
from promptls.syntax.yaml.nodes import Entry, Mapping, Node, Scalar, Sequence
from promptls.text.lines import line_end
from promptls.text.span import Span

_TO_VALUE: Final = re.compile(r"[ \t]*:([ \t]+)")
_BLOCK_HEADER: Final = re.compile(r"[|>][-+\d]{0,2}")
_DEEPEST: Final = 50


def key_edits(chunk: Chunk, roots: tuple[Node, ...]) -> Iterator[Edit]:
    """One space between key and value, and none behind a value that ends its line."""
    for root in roots:
        for entry in _entries(chunk, root, 0):
            key, value = entry.key.span, entry.value.span
            match = _TO_VALUE.fullmatch(chunk.text, key.end, value.start)
            if match and not value.is_empty() and match.group() != ": ":
                yield Edit(Span(key.end, value.start), ": ")
            yield from _trailing(chunk, entry)


def _entries(chunk: Chunk, node: Node, depth: int) -> Iterator[Entry]:
    """The entries of every mapping in block style."""
    if depth > _DEEPEST:
        return
    if isinstance(node, Sequence) and not _is_flow(chunk, node):
        for item in node.items:
            yield from _entries(chunk, item, depth + 1)
    elif isinstance(node, Mapping) and not _is_flow(chunk, node):
        for entry in node.entries:
            yield entry
            yield from _entries(chunk, entry.value, depth + 1)


def _is_flow(chunk: Chunk, node: Node) -> bool:
    return chunk.text[node.span.start : node.span.start + 1] in {"{", "["}


def _trailing(chunk: Chunk, entry: Entry) -> Iterator[Edit]:
    """White space at the end of a key's line, where that line holds no tag and no scalar goes on."""
    start = entry.key.span.start
    end = line_end(chunk.text, start)
    line = chunk.text[start:end]
    behind = len(line.rstrip(" \t"))
    if behind == len(line) or "{" in line or "}" in line:
        return
    value = entry.value
    if isinstance(value, Scalar) and value.span.start < end < value.span.end:
        header = chunk.text[value.span.start : start + behind]
        if value.style not in {"|", ">"} or not _BLOCK_HEADER.fullmatch(header):
            return
        # An empty line of the span is the header's own: the scalar's text begins on the next one.
    yield Edit(Span(start + behind, end), "")
