"""An edit inside lines of text, such as those of a block scalar: a letter in one, or some in several."""

from __future__ import annotations

from typing import NamedTuple

from promptls.syntax.chunk import Chunk
from promptls.syntax.jinja.tag import Tag
from promptls.syntax.projection import PLACEHOLDER

_OTHER_BREAKS = ("\r", "\x85", "\u2028", "\u2029", "\ufeff")


class TypedLines(NamedTuple):
    """An edit in some lines of text: where, and how the chunk grew.

    `before` and `after` are the lines that it changes, without their indentation, which stays as it was;
    what a tag prints stands in them as `project` has it. `at` is where the edit begins, or where the first
    line's last word ends before it; `last` where the text of the last line begins, and `end` where it ends.
    """

    at: int
    growth: int
    before: list[str]
    after: list[str]
    last: int
    end: int


def typed_lines(chunk: Chunk) -> TypedLines | None:
    """The edit that made the chunk, where it stands in lines of text, of which there are as many as before.

    It begins behind the first line's first character of text.
    """
    if chunk.before is None:
        return None
    old, span, growth, _ = chunk.before
    typed = chunk.text[span.start : span.end + growth].replace("\n", "")
    if not typed.isprintable() or any(mark in old.text[span.start : span.end] for mark in _OTHER_BREAKS):
        return None
    begin = old.text.rfind("\n", 0, span.start) + 1
    end = old.text.find("\n", span.end)
    if end < 0:
        return None
    lines, now_lines = _lines(old, begin, end), _lines(chunk, begin, end + growth)
    if len(lines) != len(now_lines) or lines[0].start >= span.start:
        return None
    if not chunk.has_same_tags and not _has_same_tags_around(old, chunk, lines, now_lines):
        return None
    at, last = span.start, lines[0]
    before: list[str] = []
    after: list[str] = []
    for line, now in zip(lines, now_lines, strict=True):
        if len(lines) > 1 and _is_same(old, line, chunk, now):
            continue
        text, now_text = _projected(old, line), _projected(chunk, now)
        if text is None or now_text is None or not (text + now_text).isprintable():
            return None
        if len(lines) > 1 and (not (text and now_text) or line.indent != now.indent):
            return None
        if (text.endswith(" ") or now_text.endswith(" ")) and _is_trimmed(old, line.end):
            return None
        if not before:
            at = min(at, line.start + len(text.rstrip(" ")))
        before.append(text)
        after.append(now_text)
        last = line
    return TypedLines(at, growth, before, after, last.start, last.end) if before else None


class _Line(NamedTuple):
    """A line of a chunk: how many spaces indent it, where its text begins, and where it ends."""

    indent: int
    start: int
    end: int


def _lines(chunk: Chunk, begin: int, end: int) -> list[_Line]:
    """The lines of a chunk between the beginning of one and the end of one."""
    lines = []
    for text in chunk.text[begin:end].split("\n"):
        indent = len(text) - len(text.lstrip(" "))
        lines.append(_Line(indent, begin + indent, begin + len(text)))
        begin += len(text) + 1
    return lines


def _has_same_tags_around(old: Chunk, new: Chunk, lines: list[_Line], now_lines: list[_Line]) -> bool:
    """Whether an edit changed no tags but those of its lines, each of which has none only if it had none."""
    above, below = _tags_around(old, lines[0].start, lines[-1].end)
    now_above, now_below = _tags_around(new, now_lines[0].start, now_lines[-1].end)
    if len(above) != len(now_above) or len(below) != len(now_below):
        return False
    for line, now in zip(lines, now_lines, strict=True):
        if bool(_tags_on(old, line)) != bool(_tags_on(new, now)):
            return False
    return all(map(Tag.is_same, above, now_above)) and all(map(Tag.is_same, below, now_below))


def _is_same(old: Chunk, line: _Line, new: Chunk, now: _Line) -> bool:
    """Whether an edit left a line alone, and the tags on it."""
    if old.text[line.start - line.indent : line.end] != new.text[now.start - now.indent : now.end]:
        return False
    tags, now_tags = _tags_on(old, line), _tags_on(new, now)
    return len(tags) == len(now_tags) and all(map(Tag.is_same, tags, now_tags))


def _tags_around(chunk: Chunk, start: int, end: int) -> tuple[list[Tag], list[Tag]]:
    """The tags that end ahead of some lines, and those that begin behind them."""
    above = [tag for tag in chunk.tags if tag.span.end <= start]
    return above, [tag for tag in chunk.tags if tag.span.start >= end]


def _tags_on(chunk: Chunk, line: _Line) -> list[Tag]:
    return [tag for tag in chunk.tags if tag.span.start < line.end and tag.span.end > line.start]


def _projected(chunk: Chunk, line: _Line) -> str | None:
    """The text of a line, as `project` gives it; None where it has tags that print no value."""
    _, start, end = line
    text = chunk.text[start:end]
    for tag in chunk.tags:
        if tag.span.end <= start - line.indent or tag.span.start >= end:
            continue
        is_plain = tag.kind == "output" and not (tag.trims_before or tag.trims_after)
        is_cut_off = bool(tag.unclosed) and tag.span.end != end  # it would take white space behind it along
        if not is_plain or is_cut_off or tag.span.start <= start or tag.span.end > end:
            return None
        printed = PLACEHOLDER * len(tag.text)
        text = text[: tag.span.start - start] + printed + text[tag.span.end - start :]
    return text


def _is_trimmed(chunk: Chunk, end: int) -> bool:
    """Whether the tag behind a place takes the white space there away."""
    following = next((tag for tag in chunk.tags if tag.span.start >= end), None)
    return following is not None and following.trims_before
