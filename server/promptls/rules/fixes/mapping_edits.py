"""Edits that put keys into a mapping and words into a text, in block style and in flow style."""

from __future__ import annotations

import re
from typing import Final

from promptls.rules.rule import Edit
from promptls.syntax.yaml.nodes import Entry, Node, Scalar, Sequence
from promptls.text.lines import line_end
from promptls.text.span import Span

_BRACKET: Final = re.compile(r"(?:[&!]\S*[ \t]+)*[{\[]")
"""A bracket that opens a mapping or a list, behind its anchor and its tag."""


def is_flow(text: str, span: Span) -> bool:
    """Whether the mapping or list at `span` is written in brackets."""
    return _BRACKET.match(text, span.start, span.end) is not None


def colon_end(text: str, entry: Entry) -> int:
    """The offset behind a key's colon; behind the key itself where it has none, as in `{role}`."""
    end = entry.key.span.end
    return end + 1 if text[end : end + 1] == ":" else end


def added_entry(
    text: str, span: Span, entries: tuple[Entry, ...], written: str, before: Entry | None = None
) -> Edit | None:
    """An edit that puts `written`, such as `a: 1`, ahead of an entry of the mapping at `span`.

    That entry is the first one where none is given; None for a mapping without entries.
    """
    if not entries:
        return None
    start = (before or entries[0]).key.span.start
    if is_flow(text, span):
        return Edit(Span(start, start), f"{written}, ")
    return Edit(Span(start, start), f"{written}\n{indentation(text, start)}")


def removed_item(text: str, items: Sequence, item: Node) -> Edit | None:
    """An edit that takes an item out of a list; None where it is the only one."""
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
    """Where the first character of a scalar's text stands, behind its quote or its block's head."""
    start = scalar.span.start
    if scalar.style in {"'", '"'}:
        return start + 1
    if scalar.style in {"|", ">"}:
        start = line_end(text, start)
        while start < scalar.span.end and text[start] in "\r\n \t":
            start += 1
    return start


def indentation(text: str, offset: int) -> str:
    """Spaces up to the column of `offset`."""
    return " " * (offset - max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) - 1)
