"""The Jinja tags of a text, up to the next list item or to its end."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from promptls.syntax.jinja.tag import Tag
from promptls.syntax.jinja.tag_ends import OPENING, read_tag

_NEXT: Final = re.compile(OPENING)
_ITEM: Final = re.compile(r"\n-(?=[ \t\r\n]|\Z)")
_ITEM_BEHIND_ANY_LINE_END: Final = re.compile(r"[\n\r]-(?=[ \t\r\n]|\Z)")


class Scan(NamedTuple):
    """The tags up to `end`, and how far the text was looked at to know them.

    `seen` lies behind `end` where a tag is not closed: text up to `seen` could still close
    it. It is `UNSEEN` where all of the text was looked at, and more text could matter.
    """

    tags: tuple[Tag, ...]
    end: int
    seen: int


def items_pattern(text: str) -> re.Pattern[str]:
    """The pattern of a line end with a list item behind it, the quickest that the text allows."""
    return _ITEM_BEHIND_ANY_LINE_END if "\r" in text else _ITEM


def scan(text: str, start: int, *, items: re.Pattern[str] | None, missing: set[re.Pattern[str]]) -> Scan:
    """The tags of `text` from `start` on, their spans counted from `start`.

    With `items`, the `items_pattern` of the text, the scan ends before the next line that begins a
    list item in the first column (`- …`) outside every tag; else at the end of the text. `missing`
    remembers, from one scan of the text to the next, which ends were looked for and stand nowhere
    further on.
    """
    tags: list[Tag] = []
    position = start
    seen = 0
    end = start if items is not None else len(text)
    while True:
        if items is not None and end <= position:
            item = items.search(text, max(position - 1, start))
            end = len(text) if item is None else item.start() + 1
            items = items if item is not None else None
        match = _NEXT.search(text, position, end)
        if match is None:
            return Scan(tuple(tags), end, seen)
        tag, tag_seen = read_tag(text, match.start(), start, missing)
        seen = max(seen, tag_seen)
        tags.append(tag)
        position = start + tag.span.end
        if tag.kind == "raw" and tag.unclosed:
            position = _raw_until(text, match.start(), position)


def next_tag(text: str, start: int) -> tuple[Tag, bool] | None:
    """The next tag of `text` from `start` on, and whether nothing behind it could change it, if any."""
    match = _NEXT.search(text, start)
    if match is None:
        return None
    tag, seen = read_tag(text, match.start(), 0, set())
    return tag, seen <= tag.span.end


def _raw_until(text: str, at: int, behind: int) -> int:
    """Where the text ends that a raw block which is never closed was probably to hold.

    That is the text as far as it is indented like the line of the tag: what looks like a tag in it is none.
    """
    line = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
    lead = text[line:at]
    indent = len(lead) - len(lead.lstrip(" "))
    if not indent:
        following = _ITEM_BEHIND_ANY_LINE_END.search(text, behind)
        return following.start() if following else len(text)
    most = indent if lead.strip() else indent - 1
    lesser = re.compile(rf"[\r\n](?=[ ]{{0,{most}}}[^ \r\n])").search(text, behind)
    return lesser.start() if lesser else len(text)
