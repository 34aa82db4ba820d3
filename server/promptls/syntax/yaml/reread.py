"""The YAML of a chunk by that of an earlier text of it: only what differs is read again.

A block mapping or a block list is made of stretches of whole lines, an entry or an item each, which libyaml
reads one as the other. Of the smallest stretch with all that differs, the new text is read by itself; where
it is one entry or more, or one item or more, they take the old one's place, and what stands behind moves.
Where that is not certain, nothing is said, and the whole is to be read anew.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from promptls.syntax.jinja.scan import Tag
from promptls.syntax.projection import Projection
from promptls.syntax.yaml.compose import compose, nests_too_deep
from promptls.syntax.yaml.nodes import Collection, Entry, Mapping, Node, Scalar, Sequence
from promptls.text.span import Span

_UNSURE: Final = re.compile(
    r"^(?:---|\.\.\.|%)|(?:^|[\s\[{,:-])&\S|^[ ]*(?:-[ ]+)*\?(?=\s|\Z)|[\ufeff\x85\u2028\u2029]", re.MULTILINE
)
"""What may say something of other lines: documents, anchors, keys that a `?` begins, rare line ends."""
_MOST_STRETCHES: Final = 4
"""How many stretches are tried, from the smallest to those around it."""
_MOST_CHILDREN: Final = 4
"""How many entries or items in a row are read again together."""
_MOST_LINES: Final = 50
"""How many lines above an item its dash is looked for."""
_WHITE: Final = frozenset({"", " ", "\t", "\n", "\r"})


class Reading(NamedTuple):
    """A text that was read without an error, as `project` gives it with all branches.

    `root` is its one tree, in which no node stands twice.
    """

    length: int
    tags: tuple[Tag, ...]
    projection: Projection
    root: Mapping


class Written(NamedTuple):
    """A text to be read: its tags, what it gives, and how the places of that lead back to it."""

    text: str
    tags: tuple[Tag, ...]
    projection: Projection
    span: Callable[[int, int], Span]
    is_dynamic: Callable[[Span], bool]


class _Step(NamedTuple):
    """A node on the way to what differs, and its children there, from number `first` to `last`."""

    node: Collection
    first: int
    last: int


class _Stretch(NamedTuple):
    """The lines of an entry or an item, or of some in a row: their span in the projection.

    `column` is that of their keys or dashes. The last step of the `way` leads to them.
    """

    way: tuple[_Step, ...]
    span: Span
    column: int


def reread(before: Reading, now: Written) -> Mapping | None:
    """The tree of the text; None where it must be read as a whole."""
    if before.projection.text == now.projection.text and before.tags == now.tags:
        return before.root if before.length == len(now.text) else None
    if nests_too_deep(now.projection.text):
        return None
    stretches = list(_stretches(before, _changed(before, now)))
    tried = (_read(stretch, before, now) for stretch in reversed(stretches[-_MOST_STRETCHES:]))
    return next((root for root in tried if root is not None), None)


# -- what differs -------------------------------------------------------------


def _changed(before: Reading, now: Written) -> Span:
    """The span of the old projection outside of which text, places and tags are alike."""
    old, new = before.projection, now.projection
    most = min(len(old.text), len(new.text))
    start = _most(most, lambda low, high: old.text[low:high] == new.text[low:high])
    behind = _most(
        most - start,
        lambda low, high: (
            old.text[len(old.text) - high : len(old.text) - low]
            == new.text[len(new.text) - high : len(new.text) - low]
        ),
    )
    end = len(old.text) - behind
    first, last = _changed_pieces(before, now)
    first_tag, last_tag = _changed_tags(before, now)
    return Span(min(start, first, first_tag), max(end, last, last_tag))


def _most(most: int, are_alike: Callable[[int, int], bool]) -> int:
    """How many characters are alike, at most so many."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if are_alike(low, middle):
            low = middle
        else:
            high = middle - 1
    return low


def _changed_pieces(before: Reading, now: Written) -> tuple[int, int]:
    """Up to where the places of the projections lead to the same text, and from where on again."""
    old, new = before.projection, now.projection
    grown, growth = len(new.text) - len(old.text), len(now.text) - before.length
    most = min(len(old.starts), len(new.starts))
    number = 0
    while (
        number < most
        and old.starts[number] == new.starts[number]
        and old.origins[number] == new.origins[number]
    ):
        number += 1
    first = min(_start(old, number), _start(new, number))
    number = 1
    while (
        number <= most
        and old.starts[-number] + grown == new.starts[-number]
        and old.origins[-number] + growth == new.origins[-number]
    ):
        number += 1
    last = _start(old, len(old.starts) - number + 1)
    if number <= most:
        shift = new.origins[-number] - new.starts[-number] - old.origins[-number] + old.starts[-number]
        if shift == growth - grown:  # the end of the piece moves like what stands behind it
            last = max(old.starts[-number], new.starts[-number] - grown)
    return first, last


def _start(projection: Projection, number: int) -> int:
    """Where a piece begins; behind the last one the end of the text."""
    return projection.starts[number] if number < len(projection.starts) else len(projection.text)


def _changed_tags(before: Reading, now: Written) -> tuple[int, int]:
    """Where the first and the last tag stand that are not alike, in the old projection."""
    old, new, growth = before.tags, now.tags, len(now.text) - before.length
    most = min(len(old), len(new))
    number = 0
    while number < most and (old[number] is new[number] or _is_alike(old[number], new[number], 0)):
        number += 1
    behind = 0
    while behind < most - number and _is_alike(old[-1 - behind], new[-1 - behind], growth):
        behind += 1
    changed = [
        (tags[number].span.start, tags[-1 - behind].span.end - by)
        for tags, by in ((old, 0), (new, growth))
        if number + behind < len(tags)
    ]
    if not changed:
        return len(before.projection.text), 0
    starts, ends = zip(*changed, strict=True)
    return _at(before.projection, min(starts)), _at(before.projection, max(ends))


def _is_alike(one: Tag, other: Tag, by: int) -> bool:
    return (one.kind, one.span.start + by, one.span.end + by) == (other.kind, *other.span)


def _at(projection: Projection, offset: int) -> int:
    """The place in the projection of a place in the text; of text that it leaves out, where that would be."""
    number = bisect_right(projection.origins, offset) - 1
    if number < 0:
        return 0
    place = projection.starts[number] + offset - projection.origins[number]
    return min(place, _start(projection, number + 1))


# -- stretches ----------------------------------------------------------------


def _stretches(before: Reading, changed: Span) -> Iterator[_Stretch]:
    """The stretches that hold all of a span behind their first character, each inside the one ahead of it."""
    projection = before.projection
    offset = projection.origin(changed.start)
    node: Node = before.root
    way: tuple[_Step, ...] = ()
    end = len(projection.text)
    while not isinstance(node, Scalar):
        children = _children(projection, node)
        if children is None:
            return
        first = children.holding(offset)
        start = children.start(first)
        line = _line(projection.text, start)
        if line < 0 or changed.start <= start:
            return
        for last in range(first, min(children.number, first + _MOST_CHILDREN)):
            is_last = last + 1 == children.number
            behind = children.start(last + 1) if not is_last else -1
            until = end if is_last else _line(projection.text, behind)
            if until < 0 or (not is_last and behind - until != start - line):
                return
            if changed.end <= until:
                break
        else:
            return
        end = until
        way = (*way, _Step(node, first, last))
        yield _Stretch(way, Span(line, end), start - line)
        if last > first:
            return
        node = node.entries[first].value if isinstance(node, Mapping) else node.items[first]


class _Children(NamedTuple):
    """The entries or items of a node that is not in brackets: how many, where, and which holds a place."""

    number: int
    start: Callable[[int], int]
    """Where the key or dash of a child stands in the projection; -1 where that is not sure."""
    holding: Callable[[int], int]
    """The number of the child that holds an offset of the text; -1 where it is ahead of all."""


def _children(projection: Projection, node: Collection) -> _Children | None:
    """The children of a node; None where it is in brackets, or nothing is sure."""
    if isinstance(node, Mapping):
        entries = node.entries
        if not entries or node.span.start != entries[0].key.span.start:
            return None
        return _Children(
            len(entries),
            lambda number: _at(projection, entries[number].key.span.start) if number >= 0 else -1,
            lambda offset: bisect_right(entries, offset, key=_key_start) - 1,
        )
    items = node.items
    dash = _at(projection, node.span.start)
    if not items or not _is_dash(projection.text, dash):
        return None
    column = dash - projection.text.rfind("\n", 0, dash) - 1

    def start(number: int) -> int:
        if number <= 0:
            return dash if number == 0 else -1
        return _dash(projection.text, _at(projection, items[number].span.start), column)

    return _Children(len(items), start, lambda offset: bisect_right(items, offset, key=_item_start) - 1)


def _key_start(entry: Entry) -> int:
    return entry.key.span.start


def _item_start(item: Node) -> int:
    return item.span.start


def _is_dash(text: str, offset: int) -> bool:
    return text[offset : offset + 1] == "-" and text[offset + 1 : offset + 2] in _WHITE


def _dash(text: str, content: int, column: int) -> int:
    """The dash of an item in this column, by where its content begins; -1 where none is found."""
    end = content
    for _ in range(_MOST_LINES):
        line = text.rfind("\n", 0, end) + 1
        if not text[line : line + column].strip(" ") and _is_dash(text, line + column):
            return line + column if line + column < content else -1
        if line == 0:
            break
        end = line - 1
    return -1


def _line(text: str, start: int) -> int:
    """Where the line of a place begins; -1 where anything but spaces stands ahead of it, or for no place."""
    if start < 0:
        return -1
    line = text.rfind("\n", 0, start) + 1
    return -1 if text[line:start].strip(" ") else line


# -- reading ------------------------------------------------------------------


def _read(stretch: _Stretch, before: Reading, now: Written) -> Mapping | None:
    """The tree with what now stands in the stretch; None where that may mean more or something else."""
    old, new = before.projection, now.projection
    begin, end = stretch.span.start, stretch.span.end + len(new.text) - len(old.text)
    text = new.text[begin:end]
    if _UNSURE.search(text) or (end < len(new.text) and not text.endswith("\n")):
        return None
    composed = compose(text, lambda first, last: now.span(begin + first, begin + last), now.is_dynamic)
    root = composed.root
    if root is None or composed.has_aliases or isinstance(root, Scalar):
        return None
    node = stretch.way[-1].node
    if type(root) is not type(node) or root.span.start != new.origin(begin + stretch.column):
        return None
    if isinstance(root, Mapping):
        if not root.entries or root.entries[0].key.span.start != root.span.start:
            return None
    elif not _is_dash(text, stretch.column):
        return None
    return _replaced(stretch.way, root, len(now.text) - before.length)


def _replaced(way: tuple[_Step, ...], made: Collection, growth: int) -> Mapping | None:
    """The tree with what the way leads to replaced by the children of what was made of its text.

    A list or mapping reaches as far as its last child does.
    """
    end = made.span.end
    is_last = True
    child: Collection | None = None
    for node, first, last in reversed(way):
        is_last = is_last and last + 1 == len(node.entries if isinstance(node, Mapping) else node.items)
        span = Span(node.span.start, end if is_last else node.span.end + growth)
        if isinstance(node, Mapping):
            entries = made.entries if isinstance(made, Mapping) else ()
            if child is not None:
                entries = (Entry(node.entries[first].key, child),)
            moved = [entry.moved(growth) for entry in node.entries[last + 1 :]]
            child = Mapping(span, (*node.entries[:first], *entries, *moved))
        else:
            items = made.items if isinstance(made, Sequence) else ()
            if child is not None:
                items = (child,)
            behind = [item.moved(growth) for item in node.items[last + 1 :]]
            child = Sequence(span, (*node.items[:first], *items, *behind))
    return child if isinstance(child, Mapping) else None
