"""The YAML of a chunk in which somebody types inside the text of a block scalar, or inside a tag.

Most keystrokes put a letter into a line of a `|` block, or, with several cursors, into some of them. They
change that scalar's text and move what stands behind; nothing that libyaml decides can change, so it is
not asked again. A letter
inside a tag that prints nothing to the YAML only moves what stands behind. Whatever is not certainly
of these kinds is read anew.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from promptls.syntax.chunk import Chunk
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.tag import Tag
from promptls.syntax.projection import begins_text, stands_alone
from promptls.syntax.yaml.nodes import Entry, Mapping, Node, Scalar, Sequence, key_text
from promptls.syntax.yaml.typed_lines import TypedLines, typed_lines
from promptls.text.span import Span

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
    """The trees of a chunk, by those of the chunk that it was; None where they must be read anew.

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


def _is_in_lines(chunk: Chunk, block: Scalar, typed: TypedLines) -> bool:
    """Whether the lines are all of the block's text, and none that of its `|`."""
    head = chunk.text.find("\n", block.span.start)
    return 0 <= head < typed.at and typed.last < block.span.end


def _text(block: Scalar, typed: TypedLines) -> str | None:
    """The block's text after the edit; None where the lines cannot be told from others."""
    lines = block.text.split("\n")
    bare = [line.lstrip(" ") for line in lines]
    for before, after in zip(typed.before, typed.after, strict=True):
        if bare.count(before) != 1:
            return None
        number = bare.index(before)
        lines[number] = lines[number][: len(lines[number]) - len(before)] + after
    return "\n".join(lines)


def _spaces_behind(text: str) -> int:
    """How many spaces end a text."""
    return len(text) - len(text.rstrip(" "))


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
