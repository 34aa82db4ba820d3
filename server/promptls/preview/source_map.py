"""The source map of a rendering as the page follows it: places in the units and ranges of the protocol."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from promptls.preview import wire
from promptls.rendering.file_rendering import FileRendering
from promptls.rendering.outcome import PackedMap, rows_of
from promptls.syntax.source import Source
from promptls.text.positions import Unit
from promptls.workspace.snapshot import Snapshot

MAX_SEGMENTS: Final = 10_000
"""How many segments, of the text and of all parts, a result holds where nobody asks for more."""


def add_source_map(
    found: wire.Rendering,
    snapshot: Snapshot,
    made: FileRendering,
    uri_of: Callable[[str], str],
    unit: Unit,
) -> list[str]:
    """Give each part of `found`, the rendering as JSON, a `sourceMap`, and the text one where somebody asks.

    Returns the URIs of the files that the segments name by their index. The maps are None if the
    rendering has none, which is so for very large ones unless the reader asks for it.
    """
    rendering = made.rendering
    packed = rendering.source_map if rendering else None
    if rendering is None or packed is None:
        return []
    ranges = _Ranges(snapshot, packed, unit)
    if made.job.max_segments is None:
        found["sourceMap"] = ranges.map_of(rendering.text, packed["text"])
    for part, numbers in zip(found["parts"], packed["parts"], strict=False):
        if isinstance(part["content"], str):
            part["sourceMap"] = ranges.map_of(part["content"], numbers)
    return [uri_of(path) for path in packed["files"]]


class _Ranges:
    """The ranges of the files' spans."""

    def __init__(self, snapshot: Snapshot, packed: PackedMap, unit: Unit) -> None:
        self._sources: list[Source] = []
        for path in packed["files"]:
            template = snapshot.template(path)
            self._sources.append(template.source if template else Source.of(""))
        self._packed = packed
        self._unit = unit
        self._known: dict[tuple[int, int], tuple[int, int]] = {}

    def map_of(self, text: str, numbers: Sequence[int]) -> wire.PackedSegments:
        """Return the segments of a text, from the numbers of their rows."""
        segments: list[int] = []
        turns: dict[int, int] = {}
        paths: dict[int, int] = {}
        is_wide = not text.isascii()
        at = units = 0
        for start, end, file, first, last, verbatim, turn, path in rows_of(numbers):
            if is_wide:
                begin = units + _units(text[at:start])
                at, units = end, begin + _units(text[start:end])
            else:
                begin, units = start, end
            segments += (begin, units, file)
            segments += self._position(file, first)
            segments += self._position(file, last)
            segments += (
                verbatim,
                turns.setdefault(turn, len(turns)) if self._packed["turns"][turn] else -1,
                paths.setdefault(path, len(paths)) if self._packed["paths"][path] is not None else -1,
            )
        return {
            "segments": segments,
            "turns": [self._packed["turns"][turn] for turn in turns],
            "dataPaths": [self._packed["paths"][path] for path in paths],
        }

    def _position(self, file: int, offset: int) -> tuple[int, int]:
        """Line and character."""
        key = file, offset
        found = self._known.get(key)
        if found is None:
            source = self._sources[file]
            line, character = source.units(min(offset, len(source)), self._unit)
            found = self._known[key] = line, character
        return found


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
