"""Which lines of a chunk belong to the texts of its scalars, and which to its frame."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from promptls.syntax.chunk import Chunk, kept
from promptls.syntax.yaml.nodes import Mapping, Node, Scalar, Sequence
from promptls.syntax.yaml.under_jinja import chunk_yaml
from promptls.text.lines import line_end
from promptls.text.span import Span

_DEEPEST: Final = 50


@kept
def scalar_texts(chunk: Chunk) -> tuple[Span, ...]:
    """The stretches that hold the texts of the chunk's scalars, in any of its readings."""
    return tuple(_written(chunk, node) for root in chunk_yaml(chunk).roots for node in _scalars(root, 0))


def merged(spans: tuple[Span, ...]) -> list[Span]:
    """The same places as spans that do not overlap, in order; empty ones hold no place."""
    merged: list[Span] = []
    for span in sorted(span for span in spans if span.start < span.end):
        if merged and span.start < merged[-1].end:
            merged[-1] = Span(merged[-1].start, max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return merged


def _written(chunk: Chunk, scalar: Scalar) -> Span:
    """The stretch that holds the scalar's text: behind its header, where it has one."""
    start = scalar.span.start
    if scalar.style in {"|", ">"}:
        start = min(line_end(chunk.text, start), scalar.span.end)
    return Span(start, scalar.span.end)


def _scalars(node: Node, depth: int) -> Iterator[Scalar]:
    if depth > _DEEPEST:
        return
    if isinstance(node, Scalar):
        yield node
        return
    inside = node.items if isinstance(node, Sequence) else ()
    if isinstance(node, Mapping):
        inside = tuple(part for entry in node.entries for part in (entry.key, entry.value))
    for each in inside:
        yield from _scalars(each, depth + 1)
