"""The YAML of a chunk in which somebody types inside the text of a block scalar, or inside a tag.

Most keystrokes put a letter into a line of a `|` block. They change that scalar's text and move
what stands behind; nothing that libyaml decides can change, so it is not asked again. A letter
inside a tag that prints nothing to the YAML only moves what stands behind. Whatever is not certainly
of these kinds is read anew.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from promptls.syntax.chunk import Chunk
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.tag import Tag
from promptls.syntax.projection import PLACEHOLDER, begins_text, stands_alone
from promptls.syntax.yaml.nodes import Entry, Mapping, Node, Scalar, Sequence, key_text
from promptls.text.span import Span

_BREAK = re.compile(r"[\n\r]")
_BREAKS = ("\n", "\r", "\x85", "\u2028", "\u2029", "\ufeff")
_DELIMITER = 2
"""How many characters begin and end a tag."""


class _Typed(NamedTuple):
    """An edit in one line of text: where, how the chunk grew, and the line before and after.

    `at` is where the edit begins, or where the line's last word ends before it.
    """

    at: int
    growth: int
    before: str
    after: str
    line_end: int


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


def retyped(chunk: Chunk, roots: tuple[Node, ...], *, is_plain: bool = False) -> Retyped | None:
    """The trees of a chunk, by those of the chunk that it was; None where they must be read anew.

    `is_plain` says that no node stands in them twice.
    """
    if _is_in_silent_tag(chunk) and chunk.before is not None:
        change = _Change(chunk.before.edited.start, chunk.before.growth, is_plain=is_plain)
        return Retyped(tuple([_changed(root, change) for root in roots]), None)
    typed = _typed(chunk)
    if typed is None:
        return None
    made = []
    keys: set[str | None] = set()
    for root in roots:
        found = _block_at(root, typed.at, None)
        if found is None or not _is_below_header(chunk, found[0], typed):
            return None
        block, key = found
        text = _text(block, typed)
        if text is None:
            return None
        keys.add(key)
        end_growth = typed.growth
        if block.span.end <= typed.line_end:  # it ends with the last word of the line
            end_growth = len(typed.after.rstrip(" ")) - len(typed.before.rstrip(" "))
        made.append(_changed(root, _Change(typed.at, typed.growth, block, text, end_growth, is_plain)))
    return Retyped(tuple(made), keys.pop() if len(keys) == 1 else None)


def _is_in_silent_tag(chunk: Chunk) -> bool:
    """Whether the edit that made the chunk stands inside one tag that prints nothing, neither before nor now.

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
    """What a statement says of blocks."""
    statement = tag_tree(tag).statement
    return statement.keyword, statement.opens_block, "else" in tag.text


def _typed(chunk: Chunk) -> _Typed | None:
    """The edit that made the chunk, where it stands in a line behind the line's first character of text."""
    if chunk.before is None:
        return None
    old, span, growth, _ = chunk.before
    inserted = chunk.text[span.start : span.end + growth]
    if not inserted.isprintable() or any(mark in old.text[span.start : span.end] for mark in _BREAKS):
        return None
    begin = old.text.rfind("\n", 0, span.start) + 1
    end = old.text.find("\n", span.end)
    if end < 0:
        return None
    first = begin + len(old.text[begin:end]) - len(old.text[begin:end].lstrip(" "))
    before, after = _projected(old, begin, first, end), _projected(chunk, begin, first, end + growth)
    if first >= span.start or before is None or after is None or not (before + after).isprintable():
        return None
    if not chunk.has_same_tags and not _has_same_tags_around(old, chunk, Span(begin, end), growth):
        return None
    if (before.endswith(" ") or after.endswith(" ")) and _is_trimmed(old, end):
        return None
    return _Typed(min(span.start, first + len(before.rstrip(" "))), growth, before, after, end)


def _has_same_tags_around(old: Chunk, new: Chunk, line: Span, growth: int) -> bool:
    """Whether an edit changed no tags but those of its line, and that has none only if it had none."""
    above, on_line, below = _tags_around(old, line)
    now_above, now_on_line, now_below = _tags_around(new, Span(line.start, line.end + growth))
    if len(above) != len(now_above) or len(below) != len(now_below) or bool(on_line) != bool(now_on_line):
        return False
    return all(map(Tag.is_same, above, now_above)) and all(map(Tag.is_same, below, now_below))


def _tags_around(chunk: Chunk, line: Span) -> tuple[list[Tag], list[Tag], list[Tag]]:
    """The tags that end ahead of a line, those on it, and those that begin behind it."""
    above = [tag for tag in chunk.tags if tag.span.end <= line.start]
    below = [tag for tag in chunk.tags if tag.span.start >= line.end]
    return above, list(chunk.tags[len(above) : len(chunk.tags) - len(below)]), below


def _projected(chunk: Chunk, begin: int, first: int, end: int) -> str | None:
    """A line from `first` on, as `project` gives it; None where it has tags that print no value."""
    line = chunk.text[first:end]
    for tag in chunk.tags:
        if tag.span.end <= begin or tag.span.start >= end:
            continue
        is_plain = tag.kind == "output" and not (tag.trims_before or tag.trims_after)
        is_cut_off = bool(tag.unclosed) and tag.span.end != end  # it would take white space behind it along
        if not is_plain or is_cut_off or tag.span.start <= first or tag.span.end > end:
            return None
        printed = PLACEHOLDER * len(tag.text)
        line = line[: tag.span.start - first] + printed + line[tag.span.end - first :]
    return line


def _is_trimmed(chunk: Chunk, end: int) -> bool:
    """Whether the tag behind a place takes the white space there away."""
    following = next((tag for tag in chunk.tags if tag.span.start >= end), None)
    return following is not None and following.trims_before


def _block_at(node: Node, offset: int, key: str | None) -> tuple[Scalar, str | None] | None:
    """The block scalar that holds the offset, and its key; `key` is that of the node."""
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


def _is_below_header(chunk: Chunk, block: Scalar, typed: _Typed) -> bool:
    """Whether the line is one of the block's text, and not that of its `|`."""
    head = chunk.text.find("\n", block.span.start)
    return 0 <= head < typed.at


def _text(block: Scalar, typed: _Typed) -> str | None:
    """The block's text after the edit; None where the line cannot be told from others."""
    lines = block.text.split("\n")
    same = [number for number, line in enumerate(lines) if line.lstrip(" ") == typed.before]
    if len(same) != 1:
        return None
    line = lines[same[0]]
    lines[same[0]] = line[: len(line) - len(typed.before)] + typed.after
    return "\n".join(lines)


def _changed(node: Node, change: _Change, *, is_last: bool = True) -> Node:
    """The node after the edit; the same one where it ends before it.

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
    """The number of the last one that begins at or before an offset; -1 where there is none."""
    return max((n for n, start in enumerate(starts) if start <= offset), default=-1)
