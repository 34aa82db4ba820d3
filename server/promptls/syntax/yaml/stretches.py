"""The parts of a YAML text that can be read without the text around them, and where two texts differ."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from promptls.syntax.jinja.scanner import Tag
from promptls.syntax.projection import Projection
from promptls.syntax.yaml.nodes import Collection, Entry, Mapping, Node, Scalar
from promptls.text.positions import Span


class LastReading(NamedTuple):
    """A text that was read without an error, as `project` gives it with all branches.

    `root` is its one tree, in which no node stands twice. Brackets stand in one another no deeper than
    `nesting`.
    """

    length: int
    tags: tuple[Tag, ...]
    projection: Projection
    root: Mapping
    nesting: int


class Written(NamedTuple):
    """A text to be read: its tags, what it gives, and how the places of that lead back to it."""

    text: str
    tags: tuple[Tag, ...]
    projection: Projection
    span: Callable[[int, int], Span]
    is_dynamic: Callable[[Span], bool]


def changed(before: LastReading, now: Written) -> Span:
    """Return the span of the old projection outside of which text, places and tags are alike."""
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
    is_same = start == len(old.text) == len(new.text)
    end = 0 if is_same else len(old.text) - behind
    first, last = _changed_pieces(before, now)
    first_tag, last_tag = _changed_tags(before, now)
    return Span(min(start, first, first_tag), max(end, last, last_tag))


def _most(most: int, are_alike: Callable[[int, int], bool]) -> int:
    """Return how many characters are alike, at most so many."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if are_alike(low, middle):
            low = middle
        else:
            high = middle - 1
    return low


def _changed_pieces(before: LastReading, now: Written) -> tuple[int, int]:
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
    first = min(start_of(old, number), start_of(new, number))
    number = 1
    while (
        number <= most
        and old.starts[-number] + grown == new.starts[-number]
        and old.origins[-number] + growth == new.origins[-number]
    ):
        number += 1
    last = start_of(old, len(old.starts) - number + 1)
    if number <= most:
        shift = new.origins[-number] - new.starts[-number] - old.origins[-number] + old.starts[-number]
        if shift == growth - grown:  # the end of the piece moves like what stands behind it
            last = max(old.starts[-number], new.starts[-number] - grown)
    return first, last


def start_of(projection: Projection, number: int) -> int:
    """Return where a piece begins; behind the last one the end of the text."""
    return projection.starts[number] if number < len(projection.starts) else len(projection.text)


def _changed_tags(before: LastReading, now: Written) -> tuple[int, int]:
    """Return where the first and the last tag stand that are not alike, in the old projection."""
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
    return place_in(before.projection, min(starts)), place_in(before.projection, max(ends))


def _is_alike(one: Tag, other: Tag, by: int) -> bool:
    return (one.kind, one.span.start + by, one.span.end + by) == (other.kind, *other.span)


def place_in(projection: Projection, offset: int) -> int:
    """Return the place in the projection of a place in the text.

    Of text that it leaves out, where that would be.
    """
    number = bisect_right(projection.origins, offset) - 1
    if number < 0:
        return 0
    place = projection.starts[number] + offset - projection.origins[number]
    return min(place, start_of(projection, number + 1))


_UNSURE_LINE: Final = re.compile(r"\n(?:---|\.\.\.|%|[ ]*(?:-[ ]+)*\?(?=\s|\Z))")
"""A line that may say something of others: of documents, or with a key that a `?` begins."""
_UNSURE_SIGNS: Final = ("\ufeff", "\x85", "\u2028", "\u2029")
"""Line ends and marks that libyaml counts in its own way."""
_LONE_RETURN: Final = re.compile(r"\r(?!\n)")
_ANCHOR: Final = re.compile(r"&\S")
_FLOW_KEY: Final = re.compile(r"[\[{,]\s*\?(?=\s|\Z)")
"""A key in brackets that a `?` begins."""


def has_other_lines(text: str) -> bool:
    """Return whether libyaml may count the lines of a text in its own way."""
    return any(sign in text for sign in _UNSURE_SIGNS)


def is_unsure(text: str) -> bool:
    """Return whether a text may say something of what stands around it."""
    if "\r" in text and _LONE_RETURN.search(text):
        return True
    if has_other_lines(text) or _UNSURE_LINE.search(f"\n{text}"):
        return True
    if "?" in text and _FLOW_KEY.search(text):
        return True
    return any(
        match.start() == 0 or text[match.start() - 1] in " \t\r\n[{,:-" for match in _ANCHOR.finditer(text)
    )


MAX_CHILDREN: Final = 4
"""How many entries or items in a row are read again together."""
CLOSING: Final = {"{": "}", "[": "]"}


class Step(NamedTuple):
    """A node on the way to what differs, and its children there, from number `first` to `last`."""

    node: Collection
    first: int
    last: int

    @property
    def is_to_last(self) -> bool:
        """Whether no child of the node stands behind them."""
        return self.last + 1 == len(children_of(self.node))


class Stretch(NamedTuple):
    """The text of an entry or an item, or of some in a row: their span in the projection.

    It is made of whole lines, and `column` is that of their keys or dashes. In brackets, of which `opening`
    is the one that opens, it reaches from the first key or item to the next one behind, or to the closing
    bracket. The last step of the `way` leads to them.
    """

    way: tuple[Step, ...]
    span: Span
    column: int
    opening: str = ""
    is_among_lines: bool = True
    """Whether what is in brackets stands in a mapping or list that is not."""


def children_of(node: Collection) -> tuple[Entry, ...] | tuple[Node, ...]:
    """Return the entries or items of a node."""
    return node.entries if isinstance(node, Mapping) else node.items


def opening_of(projection: Projection, node: Collection) -> str:
    """Return the bracket that a node with children begins with; empty for one that is not in brackets."""
    children = children_of(node)
    if not children or start_of_child(children[0]) <= node.span.start:
        return ""
    place = place_in(projection, node.span.start)
    opening = "{" if isinstance(node, Mapping) else "["
    return opening if projection.text.startswith(opening, place) else ""


def flow_stretches(
    projection: Projection, node: Node, way: tuple[Step, ...], changed: Span
) -> Iterator[Stretch]:
    """Yield the stretches in a node in brackets that hold all of a span behind their first character.

    Each is inside the one ahead of it; `way` leads to the node.
    """
    text = projection.text
    is_among_lines = bool(way)
    while not isinstance(node, Scalar) and (opening := opening_of(projection, node)):
        children = children_of(node)
        closing = place_in(projection, node.span.end - 1)
        if not text.startswith(CLOSING[opening], closing) or changed.end > closing:
            return
        first = bisect_right(children, projection.origin(changed.start), key=start_of_child) - 1
        start = place_in(projection, start_of_child(children[first])) if first >= 0 else -1
        if start >= changed.start and first > 0:
            first -= 1
            start = place_in(projection, start_of_child(children[first]))
        if not 0 <= start < changed.start or not _begins_child(text, start):
            return
        for last in range(first, min(len(children), first + MAX_CHILDREN)):
            is_last = last + 1 == len(children)
            until = closing if is_last else place_in(projection, start_of_child(children[last + 1]))
            if changed.end <= until:
                break
        else:
            return
        way = (*way, Step(node, first, last))
        yield Stretch(way, Span(start, until), 0, opening, is_among_lines)
        if last > first:
            return
        child = children[first]
        node = child.value if isinstance(child, Entry) else child


def start_of_child(child: Entry | Node) -> int:
    """Return where an entry or item begins."""
    return child.key.span.start if isinstance(child, Entry) else child.span.start


def _begins_child(text: str, start: int) -> bool:
    """Return whether nothing but white space stands between a place and the bracket or comma ahead of it."""
    while start > 0 and text[start - 1].isspace():
        start -= 1
    return start > 0 and text[start - 1] in "[{,"


_MAX_LINES: Final = 50
"""How many lines above an item its dash is looked for."""
_WHITE: Final = frozenset({"", " ", "\t", "\n", "\r"})


def stretches(before: LastReading, changed: Span) -> Iterator[Stretch]:
    """Yield the stretches that contain a span after their first character, from the outside in."""
    projection = before.projection
    offset = projection.origin(changed.start)
    node: Node = before.root
    way: tuple[Step, ...] = ()
    end = len(projection.text)
    while not isinstance(node, Scalar):
        if opening_of(projection, node):
            yield from flow_stretches(projection, node, way, changed)
            return
        children = _children(projection, node)
        if children is None:
            return
        first = children.holding(offset)
        start = children.start(first)
        line = line_of(projection.text, start)
        if line < 0 or changed.start <= start:
            return
        for last in range(first, min(children.number, first + MAX_CHILDREN)):
            is_last = last + 1 == children.number
            behind = children.start(last + 1) if not is_last else -1
            until = end if is_last else line_of(projection.text, behind)
            if until < 0 or (not is_last and behind - until != start - line):
                return
            if changed.end <= until:
                break
        else:
            return
        end = until
        way = (*way, Step(node, first, last))
        yield Stretch(way, Span(line, end), start - line)
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
    """Return the children of a node; None if it is in brackets, or nothing is sure."""
    if isinstance(node, Mapping):
        entries = node.entries
        if not entries or node.span.start != entries[0].key.span.start:
            return None
        return _Children(
            len(entries),
            lambda number: place_in(projection, entries[number].key.span.start) if number >= 0 else -1,
            lambda offset: bisect_right(entries, offset, key=_key_start) - 1,
        )
    items = node.items
    dash = place_in(projection, node.span.start)
    if not items or not is_dash(projection.text, dash):
        return None
    column = dash - projection.text.rfind("\n", 0, dash) - 1

    def start(number: int) -> int:
        if number <= 0:
            return dash if number == 0 else -1
        return _dash(projection.text, place_in(projection, items[number].span.start), column)

    return _Children(len(items), start, lambda offset: bisect_right(items, offset, key=_item_start) - 1)


def _key_start(entry: Entry) -> int:
    return entry.key.span.start


def _item_start(item: Node) -> int:
    return item.span.start


def is_dash(text: str, offset: int) -> bool:
    """Return whether the dash of a list item stands there."""
    return text[offset : offset + 1] == "-" and text[offset + 1 : offset + 2] in _WHITE


def _dash(text: str, content: int, column: int) -> int:
    """Return the dash of an item in this column, by where its content begins; -1 where none is found."""
    end = content
    for _ in range(_MAX_LINES):
        line = text.rfind("\n", 0, end) + 1
        if not text[line : line + column].strip(" ") and is_dash(text, line + column):
            return line + column if line + column < content else -1
        if line == 0:
            break
        end = line - 1
    return -1


def line_of(text: str, start: int) -> int:
    """Return where the line of a place begins.

    -1 where anything but spaces stands ahead of it, or for no place.
    """
    if start < 0:
        return -1
    line = text.rfind("\n", 0, start) + 1
    return -1 if text[line:start].strip(" ") else line
