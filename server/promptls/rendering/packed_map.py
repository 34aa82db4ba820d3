"""A source map on its way from the worker: plain JSON, with everything that repeats written once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from promptls.rendering.source_map.rendered import Segment

PackedMap: TypeAlias = Mapping[str, Any]
"""`files`, `turns` and `paths` are tables; `text` and each of `parts` are the numbers of rows.

Without the map of the text, `text` is empty.
"""

_WIDTH: Final = 8
"""How many numbers a row has."""


def packed_map(text: Iterable[Segment], parts: Sequence[Iterable[Segment]]) -> PackedMap:
    """The map of a rendered text and of the contents of its parts."""
    files: dict[str, int] = {}
    turns: dict[tuple[str, ...], int] = {}
    paths: dict[str | None, int] = {None: 0}

    def rows(segments: Iterable[Segment]) -> list[int]:
        found: list[int] = []
        for segment in _merged(segments):
            found += (
                segment.start,
                segment.end,
                files.setdefault(segment.path, len(files)),
                segment.first,
                segment.last,
                int(segment.verbatim),
                turns.setdefault(segment.turns, len(turns)),
                paths.setdefault(segment.data_path, len(paths)),
            )
        return found

    packed = {"text": rows(text), "parts": [rows(part) for part in parts]}
    return {**packed, "files": list(files), "turns": [list(each) for each in turns], "paths": list(paths)}


def _merged(segments: Iterable[Segment]) -> Iterator[Segment]:
    """The segments, with neighbours that are one stretch of the template as one."""
    last: Segment | None = None
    for segment in segments:
        if last is not None and _continues(last, segment):
            last = last._replace(end=segment.end, last=segment.last)
            continue
        if last is not None:
            yield last
        last = segment
    if last is not None:
        yield last


def _continues(one: Segment, other: Segment) -> bool:
    return (
        one.verbatim
        and other.verbatim
        and one.path == other.path
        and one.last == other.first
        and one.end == other.start
        and one.turns == other.turns
    )


def rows_of(numbers: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """The rows as they are packed: of file, turns and path, the places in their tables."""
    return zip(*[iter(numbers)] * _WIDTH, strict=True)
