"""The source map of a rendering as the page follows it: places in the units and ranges of the protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from promptls.rendering.outcome import Rendering
from promptls.rendering.packed_map import MapRow, map_rows
from promptls.syntax.source import Source
from promptls.text.lines import Unit
from promptls.workspace.snapshot import Snapshot

MOST_SEGMENTS: Final = 10_000
"""How many segments, of the text and of all parts, a result holds where nobody asks for more."""

JsonMap = dict[str, list[dict[str, Any]]]


def add_source_map(
    found: dict[str, Any],
    snapshot: Snapshot,
    rendering: Rendering,
    uri_of: Callable[[str], str],
    unit: Unit,
) -> list[str]:
    """Give `found`, the rendering as JSON, a `sourceMap` for its text and one for each part.

    Returns the URIs of the files that the segments name by their index. The map is None where the
    rendering has none, which is so for very large ones unless the reader asks for it.
    """
    packed = rendering.source_map
    found["sourceMap"] = None
    for part in found["parts"]:
        part["sourceMap"] = None
    if packed is None:
        return []
    rows = [list(map_rows(packed, numbers)) for numbers in (packed["text"], *packed["parts"])]
    ranges = _Ranges(snapshot, packed["files"], unit)
    found["sourceMap"] = ranges.map_of(rendering.text, rows[0])
    for part, its in zip(found["parts"], rows[1:], strict=False):
        if isinstance(part["content"], str):
            part["sourceMap"] = ranges.map_of(part["content"], its)
    return [uri_of(path) for path in packed["files"]]


class _Ranges:
    """The ranges of the files' spans."""

    def __init__(self, snapshot: Snapshot, files: Iterable[str], unit: Unit) -> None:
        self._sources: dict[str, tuple[int, Source]] = {}
        for number, path in enumerate(files):
            template = snapshot.template(path)
            self._sources[path] = number, template.source if template else Source.of("")
        self._unit = unit
        self._known: dict[tuple[str, int], dict[str, int]] = {}

    def map_of(self, text: str, rows: Iterable[MapRow]) -> JsonMap:
        """The segments of a text, whose places count units of UTF-16."""
        segments: list[dict[str, Any]] = []
        is_wide = not text.isascii()
        at = units = 0
        for row in rows:
            start, end = row.start, row.end
            if is_wide:
                start = units + _units(text[at : row.start])
                end = start + _units(text[row.start : row.end])
                at, units = row.end, end
            segments.append(
                {
                    "start": start,
                    "end": end,
                    "file": self._sources[row.file][0],
                    "range": {
                        "start": self._position(row.file, row.first),
                        "end": self._position(row.file, row.last),
                    },
                    "verbatim": row.verbatim,
                    "turns": list(row.turns),
                    "dataPath": row.data_path,
                }
            )
        return {"segments": segments}

    def _position(self, path: str, offset: int) -> dict[str, int]:
        key = path, offset
        if key not in self._known:
            source = self._sources[path][1]
            line, character = source.units(min(offset, len(source)), self._unit)
            self._known[key] = {"line": line, "character": character}
        return self._known[key]


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
