"""The YAML of a chunk after an edit inside the text of a block scalar or inside a tag."""

from __future__ import annotations

import re
from typing import NamedTuple

from promptls.syntax.chunk import Chunk
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.scanner import Tag
from promptls.syntax.projection import PLACEHOLDER, begins_text, stands_alone
from promptls.syntax.yaml.nodes import Entry, Mapping, Node, Scalar, Sequence, key_text
from promptls.text.positions import Span

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
    """Return the edit that made the chunk if it is inside lines of text and keeps their number.

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
    """Return the lines of a chunk between the beginning of one and the end of one."""
    lines = []
    for text in chunk.text[begin:end].split("\n"):
        indent = len(text) - len(text.lstrip(" "))
        lines.append(_Line(indent, begin + indent, begin + len(text)))
        begin += len(text) + 1
    return lines


def _has_same_tags_around(old: Chunk, new: Chunk, lines: list[_Line], now_lines: list[_Line]) -> bool:
    """Return whether an edit changed no tags except those of its lines."""
    above, below = _tags_around(old, lines[0].start, lines[-1].end)
    now_above, now_below = _tags_around(new, now_lines[0].start, now_lines[-1].end)
    if len(above) != len(now_above) or len(below) != len(now_below):
        return False
    for line, now in zip(lines, now_lines, strict=True):
        if bool(_tags_on(old, line)) != bool(_tags_on(new, now)):
            return False
    return all(map(Tag.is_same, above, now_above)) and all(map(Tag.is_same, below, now_below))


def _is_same(old: Chunk, line: _Line, new: Chunk, now: _Line) -> bool:
    """Return whether an edit left a line alone, and the tags on it."""
    if old.text[line.start - line.indent : line.end] != new.text[now.start - now.indent : now.end]:
        return False
    tags, now_tags = _tags_on(old, line), _tags_on(new, now)
    return len(tags) == len(now_tags) and all(map(Tag.is_same, tags, now_tags))


def _tags_around(chunk: Chunk, start: int, end: int) -> tuple[list[Tag], list[Tag]]:
    """Return the tags that end ahead of some lines, and those that begin behind them."""
    above = [tag for tag in chunk.tags if tag.span.end <= start]
    return above, [tag for tag in chunk.tags if tag.span.start >= end]


def _tags_on(chunk: Chunk, line: _Line) -> list[Tag]:
    return [tag for tag in chunk.tags if tag.span.start < line.end and tag.span.end > line.start]


def _projected(chunk: Chunk, line: _Line) -> str | None:
    """Return the text of a line, as `project` gives it; None if it has tags that print no value."""
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
    """Return whether the tag behind a place takes the white space there away."""
    following = next((tag for tag in chunk.tags if tag.span.start >= end), None)
    return following is not None and following.trims_before


_BREAK = re.compile(r"[\n\r]")
_DELIMITER = 2
"""How many characters begin and end a tag."""


class _Change(NamedTuple):
    """What becomes of the trees: the block that gets a text, and by how much what stands behind moves.

    `end_growth` is how far the end of the block moves: spaces at its very end do not count.
    """

    at: int
    growth: int
    block: Scalar | None = None
    text: str = ""
    end_growth: int = 0
    is_plain: bool = False
    """Whether no node stands in the trees twice, so that a node has its children inside of it."""


class Retyped(NamedTuple):
    """The trees of a chunk, and the key of the mapping whose text is all that is new in them."""

    roots: tuple[Node, ...]
    key: str | None


def retyped(
    chunk: Chunk, roots: tuple[Node, ...], *, is_plain: bool = False, is_read_together: bool = False
) -> Retyped | None:
    """Return the trees of a chunk, by those of the chunk that it was; None if they must be read anew.

    `is_plain` says that no node stands in them twice, `is_read_together` that they hold all branches: else a
    line may stand in one that was left out, and look like one that was not.
    """
    if _is_in_silent_tag(chunk) and chunk.before is not None:
        change = _Change(chunk.before.edited.start, chunk.before.growth, is_plain=is_plain)
        return Retyped(tuple([_changed(root, change) for root in roots]), None)
    typed = typed_lines(chunk)
    if typed is None or chunk.before is None:
        return None
    former = chunk.before.chunk.text
    if not is_read_together and any(former.count(line) != 1 for line in typed.before):
        return None
    made = []
    keys: set[str | None] = set()
    for root in roots:
        found = _block_at(root, typed.at, None)
        if found is None or not _is_in_lines(chunk, found[0], typed):
            return None
        block, key = found
        text = _text(block, typed)
        if text is None:
            return None
        keys.add(key)
        end_growth = typed.growth
        if block.span.end <= typed.end:  # it ends with the last word of the line
            end_growth += _spaces_behind(typed.before[-1]) - _spaces_behind(typed.after[-1])
        made.append(_changed(root, _Change(typed.at, typed.growth, block, text, end_growth, is_plain)))
    return Retyped(tuple(made), keys.pop() if len(keys) == 1 else None)


def _is_in_silent_tag(chunk: Chunk) -> bool:
    """Return whether the edit of the chunk is inside one tag that prints nothing, before and after.

    What a tag prints on a line of its own counts as nothing, but for the beginning of a text. A statement
    must be of the same block as before.
    """
    if chunk.before is None:
        return False
    old, span, growth, _ = chunk.before
    if _BREAK.search(chunk.text, span.start, span.end + growth) or _BREAK.search(old.text, *span):
        return False
    if len(old.tags) != len(chunk.tags):
        return False
    for number, (former, tag) in enumerate(zip(old.tags, chunk.tags, strict=True)):
        if former.span.end <= span.start:
            continue
        if not all(map(Tag.is_same, old.tags[number + 1 :], chunk.tags[number + 1 :])):
            return False
        if span.start < former.span.start + _DELIMITER or span.end > former.span.end - _DELIMITER:
            return False
        if (
            len(tag.text) - len(former.text) != growth
            or tag.unclosed
            or former.unclosed
            or _edges(tag) != _edges(former)
        ):
            return False
        if tag.kind != former.kind:
            return False
        if tag.kind == "statement":
            return _block_word(tag) == _block_word(former)
        if tag.kind == "output":
            return all(
                stands_alone(*each) and not begins_text(*each) for each in ((old, former), (chunk, tag))
            )
        return tag.kind == "comment"
    return False


def _edges(tag: Tag) -> tuple[bool, bool]:
    return tag.trims_before, tag.trims_after


def _block_word(tag: Tag) -> tuple[str, bool, bool]:
    """Return what a statement says of blocks."""
    statement = tag_tree(tag).statement
    return statement.keyword, statement.opens_block, "else" in tag.text


def _block_at(node: Node, offset: int, key: str | None) -> tuple[Scalar, str | None] | None:
    """Return the block scalar that holds the offset, and its key; `key` is that of the node."""
    if not node.span.start < offset <= node.span.end:
        return None
    if isinstance(node, Scalar):
        return (node, key) if node.style == "|" else None
    children: list[tuple[Node, str | None]]
    if isinstance(node, Sequence):
        children = [(item, None) for item in node.items if item.span.start < offset <= item.span.end]
    else:
        children = [
            (entry.value, key_text(entry))
            for entry in node.entries
            if entry.value.span.start < offset <= entry.value.span.end
        ]
    found = (_block_at(child, offset, its_key) for child, its_key in children)
    return next((each for each in found if each is not None), None)


def _is_in_lines(chunk: Chunk, block: Scalar, typed: TypedLines) -> bool:
    """Return whether the lines are all of the block's text, and none that of its `|`."""
    head = chunk.text.find("\n", block.span.start)
    return 0 <= head < typed.at and typed.last < block.span.end


def _text(block: Scalar, typed: TypedLines) -> str | None:
    """Return the block's text after the edit; None if the lines cannot be told from others."""
    lines = block.text.split("\n")
    bare = [line.lstrip(" ") for line in lines]
    for before, after in zip(typed.before, typed.after, strict=True):
        if bare.count(before) != 1:
            return None
        number = bare.index(before)
        lines[number] = lines[number][: len(lines[number]) - len(before)] + after
    return "\n".join(lines)


def _spaces_behind(text: str) -> int:
    """Return how many spaces end a text."""
    return len(text) - len(text.rstrip(" "))


def _changed(node: Node, change: _Change, *, is_last: bool = True) -> Node:
    """Return the node after the edit; the same one where it ends before it.

    `is_last` says that nothing else begins between it and the edit: a value that is missing at its end may
    then stand behind the edit.
    """
    start, end = node.span
    block = change.block
    if start > change.at and (change.is_plain or isinstance(node, Scalar)):
        return node.moved(change.growth)
    if start > change.at:
        span = node.span.shifted(change.growth)
    elif end < change.at:
        if not is_last or isinstance(node, Scalar):
            return node
        span = node.span
    elif block is not None and end == block.span.end:
        span = Span(start, end + change.end_growth)
    else:
        span = Span(start, end + change.growth)
    if isinstance(node, Scalar):
        is_block = block is not None and node.span == block.span  # an alias may have made two of one
        text = change.text if is_block else node.text
        return Scalar(span, text, node.style, node.tag, node.dynamic)
    if isinstance(node, Sequence):
        last = _last_before([item.span.start for item in node.items], change.at)
        items = [_changed(item, change, is_last=n == last) for n, item in enumerate(node.items)]
        return Sequence(span, tuple(items))
    last = _last_before([entry.key.span.start for entry in node.entries], change.at)
    entries = [
        Entry(_changed(entry.key, change), _changed(entry.value, change, is_last=n == last))
        for n, entry in enumerate(node.entries)
    ]
    return Mapping(span, tuple(entries))


def _last_before(starts: list[int], offset: int) -> int:
    """Return the number of the last one that begins at or before an offset; -1 where there is none."""
    return max((n for n, start in enumerate(starts) if start <= offset), default=-1)
