"""The lines of a mapping's entries and of a list's items, which can be read without those around them.

Inside of them, the entries and items of what is in brackets.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from promptls.syntax.projection import Projection
from promptls.syntax.yaml.difference import LastReading, place_in
from promptls.syntax.yaml.flow_stretches import (
    MOST_CHILDREN,
    Step,
    Stretch,
    flow_stretches,
    opening_of,
)
from promptls.syntax.yaml.nodes import Collection, Entry, Mapping, Node, Scalar
from promptls.text.span import Span

_MOST_LINES: Final = 50
"""How many lines above an item its dash is looked for."""
_WHITE: Final = frozenset({"", " ", "\t", "\n", "\r"})


def stretches(before: LastReading, changed: Span) -> Iterator[Stretch]:
    """The stretches that hold all of a span behind their first character, each inside the one ahead of it."""
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
        for last in range(first, min(children.number, first + MOST_CHILDREN)):
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
    """The children of a node; None where it is in brackets, or nothing is sure."""
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
    """Whether the dash of a list item stands there."""
    return text[offset : offset + 1] == "-" and text[offset + 1 : offset + 2] in _WHITE


def _dash(text: str, content: int, column: int) -> int:
    """The dash of an item in this column, by where its content begins; -1 where none is found."""
    end = content
    for _ in range(_MOST_LINES):
        line = text.rfind("\n", 0, end) + 1
        if not text[line : line + column].strip(" ") and is_dash(text, line + column):
            return line + column if line + column < content else -1
        if line == 0:
            break
        end = line - 1
    return -1


def line_of(text: str, start: int) -> int:
    """Where the line of a place begins; -1 where anything but spaces stands ahead of it, or for no place."""
    if start < 0:
        return -1
    line = text.rfind("\n", 0, start) + 1
    return -1 if text[line:start].strip(" ") else line
