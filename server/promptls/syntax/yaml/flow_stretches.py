"""The children of lists and mappings in brackets, which can be read without those around them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Final, NamedTuple

from promptls.syntax.projection import Projection
from promptls.syntax.yaml.difference import place_in
from promptls.syntax.yaml.nodes import Collection, Entry, Mapping, Node, Scalar
from promptls.text.span import Span

MOST_CHILDREN: Final = 4
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
    """The entries or items of a node."""
    return node.entries if isinstance(node, Mapping) else node.items


def opening_of(projection: Projection, node: Collection) -> str:
    """The bracket that a node with children begins with; empty for one that is not in brackets."""
    children = children_of(node)
    if not children or start_of_child(children[0]) <= node.span.start:
        return ""
    place = place_in(projection, node.span.start)
    opening = "{" if isinstance(node, Mapping) else "["
    return opening if projection.text.startswith(opening, place) else ""


def flow_stretches(
    projection: Projection, node: Node, way: tuple[Step, ...], changed: Span
) -> Iterator[Stretch]:
    """The stretches in a node in brackets that hold all of a span behind their first character.

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
        for last in range(first, min(len(children), first + MOST_CHILDREN)):
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
    """Where an entry or item begins."""
    return child.key.span.start if isinstance(child, Entry) else child.span.start


def _begins_child(text: str, start: int) -> bool:
    """Whether nothing but white space stands between a place and the bracket or comma ahead of it."""
    while start > 0 and text[start - 1].isspace():
        start -= 1
    return start > 0 and text[start - 1] in "[{,"
