"""The comments of YAML: what stands behind a `#` that is no part of a text."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Final

from promptls.syntax.chunk import Chunk, kept
from promptls.syntax.yaml.nodes import Entry, Mapping, Node, Scalar
from promptls.syntax.yaml.salvage import salvaged_item, salvaged_mapping
from promptls.syntax.yaml.under_jinja import chunk_yaml
from promptls.text.lines import line_end
from promptls.text.span import Span

_COMMENT: Final = re.compile(r"(?:^|(?<=[ \t]))#[^\r\n]*", re.MULTILINE)


@kept
def yaml_comments(chunk: Chunk) -> tuple[Span, ...]:
    """The comments in the chunk, in order, each from its `#` to the end of its line.

    A `#` inside a text, a quoted value or a Jinja tag begins none. Of a chunk whose YAML is broken, those
    behind what can still be read.
    """
    if "#" not in chunk.text:
        return ()
    texts = sorted(_texts(chunk))
    starts = [text.start for text in texts]
    found = []
    for match in _COMMENT.finditer(chunk.text):
        start = match.start()
        if any(tag.span.start < start < tag.span.end for tag in chunk.tags):
            continue
        before = bisect_right(starts, start) - 1
        if before >= 0 and start < texts[before].end:
            continue
        found.append(Span(start, match.end()))
    return tuple(found)


def _texts(chunk: Chunk) -> Iterator[Span]:
    """The spans of the chunk's scalars; of a block scalar without its first line, on which `|` stands."""
    for root in _roots(chunk):
        for scalar in _scalars(root):
            start = scalar.span.start
            if scalar.style in {"|", ">"}:
                start = line_end(chunk.text, start)
            yield Span(start, max(start, scalar.span.end))


def _roots(chunk: Chunk) -> Iterable[Node]:
    yaml = chunk_yaml(chunk)
    if yaml.roots or not yaml.problems:
        return yaml.roots
    item = salvaged_item(chunk)
    if item is not None:
        return [node for entry in item.entries for node in (entry.key, entry.value)]
    mapping = salvaged_mapping(chunk)
    return () if mapping is None else (mapping,)


def _scalars(node: Node) -> Iterator[Scalar]:
    """The scalars in a node, keys too."""
    if isinstance(node, Scalar):
        yield node
        return
    items: Iterable[Node | Entry] = node.entries if isinstance(node, Mapping) else node.items
    for item in items:
        if isinstance(item, Entry):
            yield from _scalars(item.key)
            yield from _scalars(item.value)
        else:
            yield from _scalars(item)
