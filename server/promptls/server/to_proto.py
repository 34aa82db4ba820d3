"""Conversions between protocol types and internal types: URIs, positions, ranges, severities, Markdown."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

from lsprotocol import types
from pygls.uris import from_fs_path, to_fs_path

from promptls.text.escape import without_markdown_escapes
from promptls.text.positions import PositionEncoding, Span

if TYPE_CHECKING:
    from promptls.server.capabilities import ClientCapabilities
    from promptls.syntax.source import Source


@lru_cache(maxsize=4096)
def path_of(uri: str) -> str:
    """Return the path of a file URI; for any other URI, the unquoted URI."""
    if urlsplit(uri).scheme not in {"", "file"}:
        return unquote(uri)
    path = to_fs_path(uri)
    return os.path.normpath(path) if path else unquote(uri)


def is_file(path: str) -> bool:
    """Return whether a result of `path_of` is the path of a file, and not a URI."""
    return Path(path).is_absolute()


@lru_cache(maxsize=4096)
def uri_of(path: str) -> str:
    """Return the URI of the file at `path`, as VS Code writes it."""
    return (from_fs_path(path) or path) if is_file(path) else path


SEVERITIES: Final = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "information": types.DiagnosticSeverity.Information,
    "hint": types.DiagnosticSeverity.Hint,
}


def position_encoding(encoding: types.PositionEncodingKind | str | None) -> PositionEncoding:
    """Return the negotiated position encoding; UTF-16 if none was negotiated."""
    return PositionEncoding(str(getattr(encoding, "value", encoding) or "utf-16"))


def from_position(source: Source, position: types.Position, encoding: PositionEncoding) -> int:
    """Return the offset of a position, clamped to the text."""
    return source.offset(position.line, position.character, encoding)


def from_range(source: Source, value: types.Range, encoding: PositionEncoding) -> Span:
    """Return the span of a range, clamped to the text, with its ends in order."""
    start, end = (from_position(source, each, encoding) for each in (value.start, value.end))
    return Span(min(start, end), max(start, end))


def to_position(source: Source, offset: int, encoding: PositionEncoding) -> types.Position:
    """Return the position of an offset."""
    return types.Position(*source.units(offset, encoding))


def to_range(source: Source, span: Span, encoding: PositionEncoding) -> types.Range:
    """Return the range of a span."""
    return types.Range(to_position(source, span.start, encoding), to_position(source, span.end, encoding))


def range_json(source: Source, span: Span, encoding: PositionEncoding) -> dict[str, Any]:
    """Return the range of a span as plain JSON."""
    (line, start), (end_line, end) = (source.units(offset, encoding) for offset in span)
    return {
        "start": {"line": line, "character": start},
        "end": {"line": end_line, "character": end},
    }


_TABLE_RULE = re.compile(r"^\|(?:\s*:?-+:?\s*\|)+\n?", re.MULTILINE)
_FENCED = re.compile(r"^(`{3,})\w*\n(.*?)\n?^\1$\n?", re.MULTILINE | re.DOTALL)


def without_markdown(text: str) -> str:
    """Return a Markdown text as plain text."""
    pieces: list[str] = []
    end = 0
    for block in _FENCED.finditer(text):
        pieces += [_inline(text[end : block.start()]), f"{block[2]}\n"]
        end = block.end()
    return "".join([*pieces, _inline(text[end:])]).strip()


def _inline(text: str) -> str:
    return without_markdown_escapes(_TABLE_RULE.sub("", text).replace("**", ""))


def hover_contents(capabilities: ClientCapabilities, markdown: str) -> types.MarkupContent:
    """Return the content of a hover in the format that the client supports."""
    if capabilities.markdown:
        return types.MarkupContent(types.MarkupKind.Markdown, markdown)
    return types.MarkupContent(types.MarkupKind.PlainText, without_markdown(markdown))


def documentation_of(text: str, formats: tuple[str, ...]) -> types.MarkupContent | str:
    """Return a Markdown text in one of the formats that a client supports; a string if it specifies none."""
    if "markdown" in formats:
        return types.MarkupContent(types.MarkupKind.Markdown, text)
    plain = without_markdown(text)
    return types.MarkupContent(types.MarkupKind.PlainText, plain) if "plaintext" in formats else plain
