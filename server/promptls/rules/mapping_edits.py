"""Edits that put keys into a mapping and words into a text, in block style and in flow style."""

from __future__ import annotations

from promptls.rules.rule import Edit
from promptls.syntax.yaml.nodes import Mapping, Scalar
from promptls.text.lines import line_end
from promptls.text.span import Span


def is_flow(text: str, mapping: Mapping) -> bool:
    """Whether the mapping is written in braces."""
    return text[mapping.span.start : mapping.span.start + 1] == "{"


def added_entry(text: str, mapping: Mapping, written: str) -> Edit | None:
    """An edit that puts `written`, such as `a: 1`, ahead of the mapping's keys; None for an empty one."""
    if not mapping.entries:
        return None
    start = mapping.entries[0].key.span.start
    if is_flow(text, mapping):
        return Edit(Span(start, start), f"{written}, ")
    return Edit(Span(start, start), f"{written}\n{indentation(text, start)}")


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
