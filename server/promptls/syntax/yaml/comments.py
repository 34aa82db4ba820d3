"""Find the comments of YAML: the text after a `#` that is not part of a scalar."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.jinja.scanner import Tag
from promptls.syntax.yaml.error_recovery import recovered_item, recovered_mapping
from promptls.syntax.yaml.nodes import Mapping, Node, Scalar
from promptls.syntax.yaml.under_jinja import chunk_yaml
from promptls.text.positions import Span, line_end


@chunk_fact
def yaml_comments(chunk: Chunk) -> tuple[Span, ...]:
    """Return the comments in the chunk, in order, each from its `#` to the end of its line.

    A `#` inside a text, a quoted value or a Jinja tag does not begin a comment. If the chunk's YAML is
    broken, only comments in the readable part are found.
    """
    roots: tuple[Node, ...] | None = None
    found = []
    position = chunk.text.find("#")
    while position >= 0:
        end = position + 1
        if position == 0 or chunk.text[position - 1] in " \t\n":
            end = line_end(chunk.text, position)
            roots = _roots(chunk) if roots is None else roots
            if not _is_in_tag(chunk, position) and not any(
                _is_in_text(chunk, each, position) for each in roots
            ):
                found.append(Span(position, end))
        position = chunk.text.find("#", end)
    return tuple(found)


def _is_in_tag(chunk: Chunk, offset: int) -> bool:
    number = bisect_left(chunk.tags, offset, key=_tag_start) - 1
    return number >= 0 and offset < chunk.tags[number].span.end


def _tag_start(tag: Tag) -> int:
    return tag.span.start


def _roots(chunk: Chunk) -> tuple[Node, ...]:
    yaml = chunk_yaml(chunk)
    if yaml.roots or not yaml.problems:
        return yaml.roots
    item = recovered_item(chunk)
    if item is not None:
        return tuple([node for entry in item.entries for node in (entry.key, entry.value)])
    mapping = recovered_mapping(chunk)
    return () if mapping is None else (mapping,)


def _is_in_text(chunk: Chunk, node: Node, offset: int) -> bool:
    """Return whether a scalar of the node contains the offset.

    The line of a block scalar's `|` is not part of it.
    """
    start, end = node.span
    if not start <= offset < end:
        return False
    if isinstance(node, Scalar):
        return node.style not in {"|", ">"} or line_end(chunk.text, start) <= offset
    children: Iterable[Node]
    if isinstance(node, Mapping):
        children = [each for entry in node.entries for each in (entry.key, entry.value)]
    elif chunk_yaml(chunk).is_plain:
        number = bisect_right(node.items, offset, key=_node_start)
        children = node.items[max(number - 1, 0) : number]
    else:
        children = node.items
    return any(_is_in_text(chunk, child, offset) for child in children)


def _node_start(node: Node) -> int:
    return node.span.start
