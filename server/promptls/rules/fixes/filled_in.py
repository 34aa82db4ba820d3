"""Fixes that write what is missing, to be filled in: keys at the end of a mapping, and lists around mappings."""

from __future__ import annotations

from promptls.rules.fixes.mapping_edits import colon_end, indentation, is_flow
from promptls.rules.rule import Edit, Fix
from promptls.syntax.chunk import Chunk
from promptls.syntax.yaml.nodes import Entry, Mapping
from promptls.text.lines import line_end
from promptls.text.span import Span

BLANK = "…"
"""What stands for a text that somebody is to write."""


def key_behind(chunk: Chunk, span: Span, entries: tuple[Entry, ...], written: str) -> tuple[Fix, ...]:
    """The fix that writes a key, such as `content: …`, behind the last one of the mapping at `span`.

    None where the mapping has no key yet, and where something else stands behind its last one.
    """
    if not entries:
        return ()
    title = f"Add `{written.split(':', maxsplit=1)[0]}`, to be filled in"
    last = max(entries, key=lambda entry: entry.key.span.start)
    end = max(last.value.span.end, colon_end(chunk.text, last))
    if is_flow(chunk.text, span):
        return (Fix(title, (Edit(Span(end, end), f", {written}"),)),)
    line = line_end(chunk.text, end)
    behind = chunk.text[end:line].strip()
    if (behind and not behind.startswith("#")) or any(
        tag.span.start < line and tag.span.end > end for tag in chunk.tags
    ):
        return ()
    indent = indentation(chunk.text, entries[0].key.span.start)
    return (Fix(title, (Edit(Span(line, line), f"\n{indent}{written}"),)),)


def value_behind(text: str, entry: Entry, written: str) -> Fix:
    """The fix that writes the value of a key that has none."""
    place = Span(entry.key.span.end, colon_end(text, entry))
    return Fix(f"Write {written}, to be filled in", (Edit(place, f": {written}"),))


def as_list(chunk: Chunk, mapping: Mapping) -> tuple[Fix, ...]:
    """The fix that makes a list of one item out of a mapping."""
    span = mapping.span
    if is_flow(chunk.text, span):
        edits = [Edit(Span(span.start, span.start), "["), Edit(Span(span.end, span.end), "]")]
        return (Fix("Make it a list", tuple(edits), preferred=True),)
    edits = [Edit(Span(span.start, span.start), "- ")]
    for start in chunk.line_starts:
        if span.start < start < span.end and chunk.text[start : line_end(chunk.text, start)].strip():
            edits.append(Edit(Span(start, start), "  "))
    return (Fix("Make it a list", tuple(edits), preferred=True),)
