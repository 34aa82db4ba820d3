"""How the YAML that a chunk's projection holds leads back to the chunk and to its tags."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable

from promptls.syntax.chunk import Chunk
from promptls.syntax.projection import Projection
from promptls.text.positions import Span


def spans(projection: Projection) -> Callable[[int, int], Span]:
    """Return how the spans of a projection's YAML lead back to the chunk."""
    text, starts, origins, ends = projection.text, projection.starts, projection.origins, projection.ends

    def origin(offset: int) -> int:
        number = bisect_right(starts, offset) - 1
        return min(origins[number] + offset - starts[number], ends[number]) if number >= 0 else 0

    def span(start: int, end: int) -> Span:
        if end > start and text[end - 1 : end].isspace():
            end = start + len(text[start:end].rstrip())
        first = origin(start)
        last = origin(end - 1) + 1 if end > 0 else origin(end)
        return Span(first, max(first, last))

    return span


def dynamics(chunk: Chunk) -> Callable[[Span], bool]:
    """Return whether a Jinja tag stands in a span of the chunk, or is all that stands behind an empty one."""
    tags = [tag.span for tag in chunk.tags if tag.kind not in {"comment", "raw"}]
    starts = [tag.start for tag in tags]

    def is_dynamic(place: Span) -> bool:
        before = bisect_left(starts, place.end)
        if before and tags[before - 1].end > place.start:
            return True
        if not place.is_empty():
            return False
        behind = bisect_left(starts, place.start)
        return behind < len(tags) and not chunk.text[place.end : starts[behind]].strip()

    return is_dynamic
