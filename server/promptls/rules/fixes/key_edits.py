"""Edits that take a key of a part out, in block style and in flow style."""

from __future__ import annotations

from promptls.rules.fixes.mapping_edits import colon_end
from promptls.rules.rule import Edit
from promptls.syntax.chunk import Chunk
from promptls.syntax.yaml.nodes import Entry
from promptls.text.lines import line_end
from promptls.text.span import Span


def without_entry(chunk: Chunk, span: Span, entries: tuple[Entry, ...], entry: Entry) -> Edit | None:
    """An edit that removes one of the entries of the mapping at `span`, with its line.

    None where it is the only one, and where a tag that is not part of the value would go with it.
    """
    removed = _removed(chunk.text, span, entries, entry)
    value = entry.value.span
    if removed is None or any(
        removed.start <= tag.span.start < removed.end and not value.start <= tag.span.start < value.end
        for tag in chunk.tags
    ):
        return None
    return Edit(removed, "")


def _removed(text: str, span: Span, entries: tuple[Entry, ...], entry: Entry) -> Span | None:
    start = entry.key.span.start
    before = [other for other in entries if other.key.span.start < start]
    behind = [other.key.span.start for other in entries if other.key.span.start > start]
    if behind:
        return Span(start, min(behind))
    if not before:
        return None
    if text[span.start : span.start + 1] == "{":
        return Span(max(_end(text, other) for other in before), _end(text, entry))
    begin = max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1
    end = line_end(text, _end(text, entry))
    end += 2 if text.startswith("\r\n", end) else len(text[end : end + 1])
    return Span(begin, end) if not text[begin:start].strip(" ") else None


def _end(text: str, entry: Entry) -> int:
    return max(entry.value.span.end, colon_end(text, entry))
