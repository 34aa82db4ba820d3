"""Edits that add keys to a mapping, remove them, and fill in missing values."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from typing import Final

from promptls.lint.rule import Edit, Fix
from promptls.syntax.chunk import Chunk
from promptls.syntax.yaml.nodes import Entry, Mapping, Node, Scalar, Sequence
from promptls.text.positions import Span, line_end

_BRACKET: Final = re.compile(r"(?:[&!]\S*[ \t]+)*[{\[]")
"""An opening bracket of a mapping or list, after an optional anchor and tag."""


def is_flow(text: str, span: Span) -> bool:
    """Return whether the mapping or list at `span` is in flow style, with brackets."""
    return _BRACKET.match(text, span.start, span.end) is not None


def colon_end(text: str, entry: Entry) -> int:
    """Return the offset after a key's colon, or after the key if it has no colon, as in `{role}`."""
    end = entry.key.span.end
    return end + 1 if text[end : end + 1] == ":" else end


def added_entry(
    text: str, span: Span, entries: tuple[Entry, ...], written: str, before: Entry | None = None
) -> Edit | None:
    """Return an edit that inserts `written`, such as `a: 1`, before an entry of the mapping at `span`.

    It is inserted before the first entry if `before` is None. Return None if the mapping is empty.
    """
    if not entries:
        return None
    start = (before or entries[0]).key.span.start
    if is_flow(text, span):
        return Edit(Span(start, start), f"{written}, ")
    return Edit(Span(start, start), f"{written}\n{indentation(text, start)}")


def removed_item(text: str, items: Sequence, item: Node) -> Edit | None:
    """Return an edit that removes an item from a list; None if it is the only one."""
    index = items.items.index(item)
    if len(items.items) == 1:
        return None
    if is_flow(text, items.span):
        if index + 1 < len(items.items):
            return Edit(Span(item.span.start, items.items[index + 1].span.start), "")
        return Edit(Span(items.items[index - 1].span.end, item.span.end), "")
    begin = max(text.rfind("\n", 0, item.span.start), text.rfind("\r", 0, item.span.start)) + 1
    end = line_end(text, item.span.end)
    is_alone = not text[begin : item.span.start].replace("-", "").strip()
    return Edit(Span(begin, end + len(text[end : end + 1])), "") if is_alone else None


def text_start(text: str, scalar: Scalar) -> int:
    """Return the offset of the first character of a scalar's text, after its quote or block header."""
    start = scalar.span.start
    if scalar.style in {"'", '"'}:
        return start + 1
    if scalar.style in {"|", ">"}:
        start = line_end(text, start)
        while start < scalar.span.end and text[start] in "\r\n \t":
            start += 1
    return start


def indentation(text: str, offset: int) -> str:
    """Return spaces up to the column of `offset`."""
    return " " * (offset - max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) - 1)


def without_entry(chunk: Chunk, span: Span, entries: tuple[Entry, ...], entry: Entry) -> Edit | None:
    """Return an edit that removes an entry of the mapping at `span`, with its line.

    Return None if it is the only entry, or if the edit would also remove a tag outside of the value.
    """
    removed = _removed(chunk.text, span, entries, entry)
    value = entry.value.span
    if removed is None or any(
        removed.start <= tag.span.start < removed.end and not value.start <= tag.span.start < value.end
        for tag in chunk.tags_at(removed)
    ):
        return None
    return Edit(removed, "")


def _removed(text: str, span: Span, entries: tuple[Entry, ...], entry: Entry) -> Span | None:
    start = entry.key.span.start
    following = bisect_right(entries, start, key=_start)
    if following < len(entries):
        return Span(start, _start(entries[following]))
    before = entries[: bisect_left(entries, start, key=_start)][-1:]
    if not before:
        return None
    if text[span.start : span.start + 1] == "{":
        return Span(_end(text, before[0]), _end(text, entry))
    begin = max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1
    end = line_end(text, _end(text, entry))
    end += 2 if text.startswith("\r\n", end) else len(text[end : end + 1])
    return Span(begin, end) if not text[begin:start].strip(" ") else None


def _start(entry: Entry) -> int:
    return entry.key.span.start


def _end(text: str, entry: Entry) -> int:
    return max(entry.value.span.end, colon_end(text, entry))


BLANK = "…"
"""A placeholder for text that the user has to write."""


def key_behind(chunk: Chunk, span: Span, entries: tuple[Entry, ...], written: str) -> tuple[Fix, ...]:
    """Return the fix that adds a key, such as `content: …`, after the last key of the mapping at `span`.

    Return nothing if the mapping is empty, or if something else follows its last key on the line.
    """
    if not entries:
        return ()
    title = f"Add `{written.split(':', maxsplit=1)[0]}`, to be filled in"
    last = max(entries, key=lambda entry: entry.key.span.start)
    end = max(last.value.span.end, colon_end(chunk.text, last))
    if is_flow(chunk.text, span):
        return (Fix(title, (Edit(Span(end, end), f", {written}"),)),)
    line = line_end(chunk.text, end)
    after = chunk.text[end:line].strip()
    if (after and not after.startswith("#")) or any(
        tag.span.start < line and tag.span.end > end for tag in chunk.tags
    ):
        return ()
    indent = indentation(chunk.text, entries[0].key.span.start)
    return (Fix(title, (Edit(Span(line, line), f"\n{indent}{written}"),)),)


def value_behind(text: str, entry: Entry, written: str) -> Fix:
    """Return the fix that adds a value to a key without one."""
    place = Span(entry.key.span.end, colon_end(text, entry))
    return Fix(f"Write {written}, to be filled in", (Edit(place, f": {written}"),))


def as_list(chunk: Chunk, mapping: Mapping) -> tuple[Fix, ...]:
    """Return the fix that turns a mapping into a list with one item."""
    span = mapping.span
    if is_flow(chunk.text, span):
        edits = [Edit(Span(span.start, span.start), "["), Edit(Span(span.end, span.end), "]")]
        return (Fix("Make it a list", tuple(edits), preferred=True),)
    edits = [Edit(Span(span.start, span.start), "- ")]
    for start in chunk.line_starts:
        if span.start < start < span.end and chunk.text[start : line_end(chunk.text, start)].strip():
            edits.append(Edit(Span(start, start), "  "))
    return (Fix("Make it a list", tuple(edits), preferred=True),)
