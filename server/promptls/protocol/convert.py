"""Every conversion between the protocol's types and ours: URIs, positions, ranges, severities.

A URI leads to one path for the whole life of a file: absolute, with the drive letter in
lower case on Windows. What is no file (`untitled:…`) keeps its URI in the place of a path.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from lsprotocol import types
from pygls.uris import from_fs_path, to_fs_path

from promptls.syntax.chunk import Chunk
from promptls.syntax.source import Source
from promptls.text.lines import Unit, place_of, units_from_column
from promptls.text.span import Span

SEVERITIES: Final = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "information": types.DiagnosticSeverity.Information,
    "hint": types.DiagnosticSeverity.Hint,
}


@lru_cache(maxsize=4096)
def path_of(uri: str) -> str:
    """The path that a URI stands for; the URI itself, unquoted, where it is of no file."""
    if urlsplit(uri).scheme not in {"", "file"}:
        return unquote(uri)
    path = to_fs_path(uri)
    return os.path.normpath(path) if path else unquote(uri)


def is_file(path: str) -> bool:
    """Whether `path_of` gave the path of a file, and not a URI of something else."""
    return Path(path).is_absolute()


@lru_cache(maxsize=4096)
def uri_of(path: str) -> str:
    """The URI of the file at `path`, as VS Code writes it."""
    return (from_fs_path(path) or path) if is_file(path) else path


def unit_of(encoding: types.PositionEncodingKind | str | None) -> Unit:
    """The unit of a negotiated position encoding; UTF-16 where none was negotiated."""
    return Unit(str(getattr(encoding, "value", encoding) or "utf-16"))


def from_position(source: Source, position: types.Position, unit: Unit) -> int:
    """The offset of a position, clamped to the text."""
    return source.offset(position.line, position.character, unit)


def from_range(source: Source, value: types.Range, unit: Unit) -> Span:
    """The span of a range, clamped to the text; its ends in order."""
    start, end = (from_position(source, each, unit) for each in (value.start, value.end))
    return Span(min(start, end), max(start, end))


def to_position(source: Source, offset: int, unit: Unit) -> types.Position:
    """The position of an offset."""
    return types.Position(*source.units(offset, unit))


def to_range(source: Source, span: Span, unit: Unit) -> types.Range:
    """The range of a span."""
    return types.Range(to_position(source, span.start, unit), to_position(source, span.end, unit))


def range_json(source: Source, span: Span, unit: Unit) -> dict[str, Any]:
    """The range of a span as the wire has it."""
    located = source.located(span.start)
    chunk = located.chunk
    if located.start <= span.start <= span.end < located.start + chunk.length:
        inside = span.start - located.start
        line, start = _in_chunk(chunk, inside, unit)
        following = chunk.line_starts[line + 1] if line + 1 < len(chunk.line_starts) else chunk.length
        end_line, end = line, start + span.end - span.start
        if inside + span.end - span.start >= following or not chunk.text.isascii():
            end_line, end = _in_chunk(chunk, span.end - located.start, unit)
        line, end_line = line + located.first_line, end_line + located.first_line
    else:
        line, start = source.units(span.start, unit)
        end_line, end = source.units(span.end, unit)
    return {
        "start": {"line": line, "character": start},
        "end": {"line": end_line, "character": end},
    }


def _in_chunk(chunk: Chunk, offset: int, unit: Unit) -> tuple[int, int]:
    line, column = place_of(chunk.line_starts, offset)
    if chunk.text.isascii():
        return line, column
    return line, units_from_column(chunk.text[offset - column : offset], column, unit)


def span_of_json(source: Source, value: dict[str, Any], unit: Unit) -> Span:
    """The span of a range as the wire has it, clamped to the text; its ends in order."""
    first, last = value["start"], value["end"]
    start = source.offset(first["line"], first["character"], unit)
    end = start if last == first else source.offset(last["line"], last["character"], unit)
    return Span(min(start, end), max(start, end))
